// The daemon's API. The token is in the link's fragment, which the browser sends to no server. This tab keeps it.

const key = "fabricd-token";

// takeToken moves the token of the link into the tab's storage and out of the address bar.
export function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    keepToken(token);
    history.replaceState(null, "", location.pathname);
  }
}

export function keepToken(token) {
  sessionStorage.setItem(key, token);
}

export const hasToken = () => Boolean(sessionStorage.getItem(key));

// ApiError is an answer that is not a success; status 0: no answer.
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// request sends a request and returns the answer's JSON.
export async function request(method, path, body) {
  const headers = { Authorization: "Bearer " + (sessionStorage.getItem(key) ?? "") };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer, text;
  try {
    answer = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(10000), cache: "no-store" });
    text = await answer.text();
  } catch {
    throw new ApiError(0, "fabricd does not answer: it does not run, or its port is closed (fabricd page opens it)");
  }
  if (!answer.ok) throw new ApiError(answer.status, messageOf(text, `${method} ${path}: ${answer.status}`));
  return JSON.parse(text, exact);
}

function messageOf(text, otherwise) {
  try {
    const e = JSON.parse(text);
    return e.hint ? `${e.error} (${e.hint})` : e.error;
  } catch {
    return otherwise;
  }
}

// exact keeps the 64 bits of a seed as text, because a number cannot hold them.
function exact(name, value, context) {
  return name === "seed" ? context?.source ?? String(value) : value;
}
