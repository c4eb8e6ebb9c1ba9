/** Whether an answer says that it is JSON, of whatever kind. */
export function isJson(headers: Headers): boolean {
  return /^application\/([\w.+-]+\+)?json\b/i.test(headers.get("content-type") ?? "");
}
