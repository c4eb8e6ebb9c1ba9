// An app for Deno Deploy that serves downloads and their web page. Its settings are environment variables.
export { default } from "@weir/datastream/serve";
