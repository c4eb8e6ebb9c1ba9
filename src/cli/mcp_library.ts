// The library of `weir mcp`. One module, so that the npm package has one more chunk, which only this command loads.
export { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
export { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
