// Begins: colours, who is asking, and then the screen of the address.

import { find } from "./api.js";
import { learnService } from "./commands.js";
import { help, listen } from "./keyboard.js";
import { openPalette } from "./palette.js";
import { rightsFor } from "./rights.js";
import { route } from "./router.js";
import { forget, onSignIn, signedIn } from "./session.js";
import { makeShell } from "./shell.js";
import { applyTheme } from "./theme.js";
import { showSignIn } from "./views/sign_in.js";

const app = document.getElementById("app");

async function begin() {
  const shell = makeShell({
    find: openPalette,
    help,
    signedIn: signedIn(),
    signOut: () => { forget(); location.reload(); },
  });
  app.replaceChildren(shell.element);
  await learnService().catch(() => {});  // Who has to sign in is asked by what follows.
  await route(shell);
  const version = await find("brokers/version");
  const { role } = await rightsFor();
  shell.who(role || (signedIn() ? "Signed in" : "Everybody is in"), version ? `Broker ${version}` : "");
}

onSignIn((reason) => {
  if (document.querySelector(".sign-in")) return;
  const had = signedIn();
  forget();
  showSignIn(app, had ? reason : "");
});
// What a screen that was left still waited for is no failure, nor is being asked to sign in.
window.addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name === "AbortError" || event.reason?.status === 401) event.preventDefault();
});
applyTheme();
listen({ find: openPalette });
void begin();
