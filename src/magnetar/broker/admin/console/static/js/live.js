// What is asked again and again while a screen is open, and only while somebody can see it.

import { pause } from "./stream.js";

const seen = () => new Promise((resolve) => {
  if (!document.hidden) resolve();
  else document.addEventListener("visibilitychange", resolve, { once: true });
});

/** Calls ``load`` now, whose failure is the caller's, and then every ``ms``. Returns a way to do it at once. */
export async function every(screen, ms, load) {
  await load();
  screen.state("live");
  let hurry = () => {};
  const turn = async () => {
    while (!screen.signal.aborted) {
      await Promise.race([pause(ms, screen.signal), new Promise((resolve) => { hurry = resolve; })]);
      await seen();
      if (screen.signal.aborted) return;
      try {
        await load();
        screen.state("live");
      } catch (error) {
        if (screen.signal.aborted) return;
        screen.state("lost", error.message);
      }
    }
  };
  void turn();
  return async () => {
    await load();
    hurry();
  };
}

/** Does something for each of many, a few at a time; what fails is left out. */
export async function each(items, work, { atOnce = 6, signal } = {}) {
  const waiting = [...items];
  const one = async () => {
    while (waiting.length && !signal?.aborted) {
      const item = waiting.shift();
      try {
        await work(item);
      } catch (error) {
        if (error.name === "AbortError") return;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, waiting.length) }, one));
}
