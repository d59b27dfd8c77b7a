// The search runs in a worker, and browsers start none from a file: then an invisible frame does its work.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.frame = frame.contentWindow;
      const page = frame.contentDocument;
      page.open();
      page.write("<!doctype html><script>" +
        "self.postMessage = data => parent.dispatchEvent(new CustomEvent('frame-worker', {detail: data}));" +
        "self.importScripts = (...urls) => Promise.all(urls.map(url => new Promise(done => {" +
        "const tag = document.createElement('script'); tag.src = url; tag.onload = done; document.body.appendChild(tag); })));" +
        "<\/script><body></body>");
      page.close();
      this.ready = new Promise(done => {
        const tag = page.createElement("script");
        tag.src = url;
        tag.onload = done;
        page.body.appendChild(tag);
      });
      window.addEventListener("frame-worker", ({detail}) => {
        const event = new MessageEvent("message", {data: detail});
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.frame.dispatchEvent(new this.frame.MessageEvent("message", {data})));
    }
    terminate() {
      this.frame.frameElement.remove();
    }
  };
}
