// The search of the site works in a Worker, and browsers start none for pages that were opened as
// files. There, a hidden frame does the same work: it is of the page's own origin.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #ready;

    constructor(url) {
      super();
      this.#frame.hidden = true;
      this.#frame.title = "search";
      this.#ready = new Promise((resolve) => {
        document.body.append(this.#frame);
        const inside = this.#frame.contentWindow;
        const answer = (data) => {
          const event = new MessageEvent("message", { data });
          this.dispatchEvent(event);
          this.onmessage?.(event);
        };
        inside.postMessage = answer;
        inside.importScripts = (...urls) =>
          urls.reduce((before, each) => before.then(() => load(inside, each)), Promise.resolve());
        load(inside, url).then(resolve);
      });
    }

    postMessage(data) {
      this.#ready.then(() => {
        this.#frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.#frame.remove();
    }
  };
}

function load(frame, url) {
  return new Promise((resolve, reject) => {
    const script = frame.document.createElement("script");
    script.src = url;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${url} cannot be loaded`));
    frame.document.body.append(script);
  });
}
