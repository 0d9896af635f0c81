// Who is signed in. Credentials are kept for this tab only, and leave it in headers only.

const KEY = "magnetar.credentials";
let ask = () => {};

/** The headers that say who asks. */
export function credentials() {
  const kept = sessionStorage.getItem(KEY);
  return kept ? { Authorization: kept } : {};
}

export const signedIn = () => sessionStorage.getItem(KEY) !== null;

export function keepToken(token) {
  sessionStorage.setItem(KEY, `Bearer ${token.trim()}`);
}

export function keepPassword(user, password) {
  const text = new TextEncoder().encode(`${user}:${password}`);
  sessionStorage.setItem(KEY, `Basic ${btoa(String.fromCharCode(...text))}`);
}

export function forget() {
  sessionStorage.removeItem(KEY);
}

/** What is called when the broker asks who this is. */
export function onSignIn(callback) {
  ask = callback;
}

export function needSignIn(reason) {
  ask(reason);
}
