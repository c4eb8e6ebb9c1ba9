# Container image of the server. The server writes no files, and needs no network to start.
#
#   docker build --tag weir .
#   docker run --publish 127.0.0.1:8000:8000 --env WEIR_SANDBOX=1 --read-only --cap-drop ALL --stop-timeout 30 weir
#
# docs/deploying.md describes the environment variables.

FROM denoland/deno:2.9.6 AS build
WORKDIR /weir
COPY . .
RUN ["deno", "task", "bundle"]

FROM gcr.io/distroless/nodejs24-debian13:nonroot
LABEL org.opencontainers.image.title="Weir" \
  org.opencontainers.image.description="CSV downloads of Canada's open water-quality data" \
  org.opencontainers.image.licenses="MIT"
COPY --from=build /weir/dist/server.mjs /weir/
# A published port reaches the server only if it listens on all addresses of the container.
ENV HOST=0.0.0.0 PORT=8000
USER 65532:65532
EXPOSE 8000
STOPSIGNAL SIGTERM
# The image has neither a shell nor curl.
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s \
  CMD ["/nodejs/bin/node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT?.trim() || 8000) + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# For less memory: docs/deploying.md, "Limits"
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=4", "/weir/server.mjs"]
