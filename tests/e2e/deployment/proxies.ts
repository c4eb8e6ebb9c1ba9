// nginx and Caddy with the files of docs/deploying.md, on loopback. Clients reach them as https://weir.example.
import { deploymentBlock } from "../../helpers/documents.ts";
import { groupCommand, type ProgramResult, runProgram } from "../../helpers/programs.ts";
import { LOOPBACK_CERTIFICATE } from "../loopback_certificate.ts";
import { type Server, startServer } from "../servers/server.ts";

export const NGINX_SITE: string = deploymentBlock("proxy_pass");
export const CADDYFILE: string = deploymentBlock("reverse_proxy");
/** Files that certbot writes, by name. */
export const CERTIFICATE = {
  "fullchain.pem": LOOPBACK_CERTIFICATE.cert,
  "privkey.pem": LOOPBACK_CERTIFICATE.key,
};

/** Configuration around a site, with the names of files relative to its own. */
export function nginxFile(site: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path temporary;`).join(" ");
  // As in Debian.
  const debian = "sendfile on; tcp_nopush on; gzip on; default_type application/octet-stream;";
  return `daemon off; pid nginx.pid; error_log stderr notice;
events {}
http { access_log off; ${temporary} ${debian}
${site.replaceAll("/etc/letsencrypt/live/weir.example/", "")}}`;
}

/** Commands in the folder of the configuration. */
export const NGINX: readonly string[] = ["-p", ".", "-c", "nginx.conf", "-e", "stderr"];

export interface Proxy extends AsyncDisposable {
  /** Runs curl with the arguments, with its certificate unchecked. */
  curl(...args: string[]): Promise<ProgramResult>;
  /** Starts it. */
  spawnCurl(...args: string[]): Deno.ChildProcess;
}

export interface ProxyProgram {
  name: string;
  isInstalled: boolean;
  /** Whether curl fails when the server breaks a download. */
  keepsBroken: boolean;
  /** Starts it in front of a server. */
  start(server: Server): Promise<Proxy>;
}

const versionOf = async (program: string, flag: string) => {
  const { stdout = "", stderr = "" } = await runProgram(program, flag) ?? {};
  const [, major, minor] = /(\d+)\.(\d+)\.\d+/.exec(stdout + stderr) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor)] as const;
};
const nginx = await versionOf("nginx", "-v");
const caddy = await versionOf("caddy", "version");

export const PROXIES: readonly ProxyProgram[] = [
  {
    name: "nginx",
    isInstalled: nginx !== undefined,
    keepsBroken: true,
    start: ({ root }) =>
      startProxy((http, https) => {
        const ports: Record<string, number> = { 80: http, 443: https };
        const site = NGINX_SITE.replaceAll("127.0.0.1:8000", new URL(root).host)
          .replace(
            /listen (\[::\]:)?(\d+)/g,
            (_, v6, port) => `listen ${v6 ? "127.0.0.3" : "127.0.0.1"}:${ports[port]}`,
          );
        return {
          program: "nginx",
          args: [...NGINX],
          files: { ...CERTIFICATE, "nginx.conf": nginxFile(site) },
          port: /start worker process()/,
        };
      }),
  },
  {
    name: "Caddy",
    isInstalled: caddy !== undefined,
    keepsBroken: caddy !== undefined && (caddy[0] > 2 || caddy[1] >= 8),
    start: ({ root }) =>
      startProxy((http, https) => ({
        program: "caddy",
        args: ["run", "--config", "Caddyfile"],
        environment: { XDG_DATA_HOME: "data", XDG_CONFIG_HOME: "config" },
        files: {
          Caddyfile: `{
	admin off
	http_port ${http}
	https_port ${https}
	default_bind 127.0.0.1
	local_certs
	skip_install_trust
}
${CADDYFILE.replace("127.0.0.1:8000", new URL(root).host)}`,
        },
        port: /serving initial configuration()/,
      })),
  },
];

async function startProxy(
  command: (http: number, https: number) => Parameters<typeof startServer>[0],
): Promise<Proxy> {
  const [http, https] = freePorts();
  const proxy = await startServer(command(http!, https!));
  const own = [
    ...["--silent", "--show-error", "--insecure", "--no-buffer", "--noproxy", "*"],
    ...[[80, http], [443, https]].flatMap(([port, own]) => [
      "--connect-to",
      `weir.example:${port}:127.0.0.1:${own}`,
    ]),
  ];
  return {
    curl: async (...args) => (await runProgram("curl", ...own, ...args))!,
    spawnCurl: (...args) =>
      groupCommand("curl", { args: [...own, ...args], stdout: "piped", stderr: "null" }).spawn(),
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  };
}

/** Two ports that no program uses. */
function freePorts(): number[] {
  const listeners = [0, 0].map((port) => Deno.listen({ hostname: "127.0.0.1", port }));
  return listeners.map((listener) => {
    listener.close();
    return (listener.addr as Deno.NetAddr).port;
  });
}
