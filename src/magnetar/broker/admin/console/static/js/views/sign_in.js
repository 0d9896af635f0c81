// Signing in, with a token or with a name and a password. The credentials stay in this tab.

import { send } from "../api.js";
import { h } from "../dom.js";
import { forget, keepPassword, keepToken } from "../session.js";
import { field, radios } from "../ui/forms.js";
import { notice } from "../ui/parts.js";

export function showSignIn(app, reason) {
  const failure = h("div", null, reason && notice("bad", reason));
  const token = h("textarea", {
    name: "token", rows: "4", spellcheck: "false", autocomplete: "off", placeholder: "eyJhbGciOi…",
    onkeydown: (event) => { if (event.key === "Enter" && !event.isComposing) { event.preventDefault(); form.requestSubmit(); } },
  });
  const user = h("input", { name: "user", autocomplete: "username", spellcheck: "false" });
  const password = h("input", { name: "password", type: "password", autocomplete: "current-password" });
  const byToken = h("div", null, field("Token", token, "As Pulsar's clients send it: a JSON web token"));
  const byPassword = h("div", { class: "stack hidden" }, field("User", user), field("Password", password));
  const how = radios("With", "how", [["token", "a token"], ["password", "a password"]], "token", (chosen) => {
    byToken.classList.toggle("hidden", chosen !== "token");
    byPassword.classList.toggle("hidden", chosen !== "password");
  });
  const submit = h("button", { class: "button primary", type: "submit", style: { width: "100%", "min-height": "36px" } }, "Sign in");

  async function signIn(event) {
    event.preventDefault();
    if (byPassword.classList.contains("hidden")) keepToken(token.value);
    else keepPassword(user.value, password.value);
    submit.disabled = true;
    try {
      await send("GET", "clusters");
    } catch (error) {
      if (error.status !== 403) {
        forget();
        failure.replaceChildren(notice("bad", error.message));
        submit.disabled = false;
        return;
      }
    }
    location.reload();
  }

  const form = h("form", { onsubmit: signIn, "aria-labelledby": "sign-in" },
    h("div", null, h("img", { src: "icon.svg", alt: "" }), h("h1", { id: "sign-in" }, "Sign in to Magnetar")),
    failure, how, byToken, byPassword, submit,
    h("p", { class: "help" }, "Kept for this tab only, and forgotten when it closes."));
  app.replaceChildren(h("main", { class: "sign-in", id: "main", tabindex: "-1" }, form));
  token.focus();
}
