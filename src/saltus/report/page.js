// Points that tell more, and a page that changes while a study runs. Nothing here is needed to read the page.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const NEAR = 22; // pixels between the pointer and a point
  const marks = new WeakMap(); // of each chart, once somebody has pointed at it
  let known = read();
  let pinned = null; // the name of a trial
  let pointer = null; // where it was last

  function read() {
    const data = document.getElementById("trials");
    return data ? JSON.parse(data.textContent) : { names: [], limits: [], more: 0, rows: [] };
  }

  function make(tag, kind, words) {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    if (words !== undefined) element.textContent = words;
    return element;
  }

  // The marks of a chart: for each the places that it goes through, and the row that tells about it.
  function marksOf(svg) {
    if (!marks.has(svg)) marks.set(svg, [...svg.querySelectorAll("path[data-i]")].flatMap(marksOfPath));
    return marks.get(svg);
  }

  function marksOfPath(path) {
    const rows = path.dataset.i.split(" ");
    const shift = path.classList.contains("crosses") ? 2 : 0; // they begin at their upper left end
    const thread = path.classList.contains("threads");
    const pieces = path.getAttribute("d").split("M").slice(1);
    return pieces.map((piece, k) => {
      const places = (thread ? piece.split("L") : [piece]).map((pair) => {
        const [x, y] = pair.match(/-?[\d.]+/g);
        return [Number(x) + shift, Number(y) + shift];
      });
      return { row: Number(rows[k]), places, thread };
    });
  }

  function distance(mark, x, y) {
    if (!mark.thread) return Math.hypot(mark.places[0][0] - x, mark.places[0][1] - y);
    const next = mark.places.findIndex((place) => place[0] >= x);
    if (next < 1) return Infinity;
    const [[a, b], [c, d]] = [mark.places[next - 1], mark.places[next]];
    return Math.abs(b + ((d - b) * (x - a)) / (c - a) - y);
  }

  function nearest(svg, event) {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    let found = null;
    let least = NEAR * scale;
    for (const mark of marksOf(svg)) {
      const apart = distance(mark, x, y);
      if (apart < least) [least, found] = [apart, mark];
    }
    return found;
  }

  function nameOf(trial, study) {
    return study === undefined ? `trial ${trial}` : `${known.studies[study]}, trial ${trial}`;
  }

  function inWords(row) {
    const [trial, value, state, took, , , , study] = known.rows[row];
    return [nameOf(trial, study), `value ${value}`, state, took === "–" ? "" : `took ${took}`].filter(Boolean);
  }

  // What a chart shows of a row: a ring around its mark, or its line.
  function draw(svg, row, kind) {
    for (const mark of marksOf(svg)) {
      if (mark.row !== row) continue;
      const shape = document.createElementNS(SVG, mark.thread ? "path" : "circle");
      shape.setAttribute("class", `chosen ${kind}${mark.thread ? " thread" : ""}`);
      if (mark.thread) {
        shape.setAttribute("d", `M${mark.places.map((place) => place.join(" ")).join("L")}`);
      } else {
        shape.setAttribute("cx", mark.places[0][0]);
        shape.setAttribute("cy", mark.places[0][1]);
        shape.setAttribute("r", 5.5);
      }
      svg.append(shape);
      return mark;
    }
    return null;
  }

  function clear(kind) {
    for (const shape of document.querySelectorAll(`.chosen.${kind}`)) shape.remove();
  }

  const tip = make("div", "tip");
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true"); // a screen reader hears the chart's own words
  document.body.append(tip);

  function point(svg, row) {
    clear("pointed");
    tip.hidden = row === null;
    if (row === null) return;
    const mark = draw(svg, row, "pointed");
    const [first, ...others] = inWords(row);
    const values = known.rows[row][4];
    const params = known.names.map((name, i) => `${name} = ${values[i]}`).filter((_, i) => values[i] !== null);
    const lines = [...others, ...params.slice(0, 6)];
    tip.replaceChildren(make("b", "", first), ...lines.map((line) => make("div", "", line)));
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    const places = mark ? mark.places : [[0, 0]];
    const place = places[Math.floor(places.length / 2)];
    const [x, y] = [box.left + place[0] * scale, box.top + place[1] * scale];
    const left = x + 14 + tip.offsetWidth < innerWidth ? x + 14 : Math.max(4, x - 14 - tip.offsetWidth);
    tip.style.left = `${left}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 10, innerHeight - tip.offsetHeight - 4))}px`;
    svg.setAttribute("aria-valuenow", rowsOf(svg).indexOf(row) + 1);
    svg.setAttribute("aria-valuetext", inWords(row).join(", "));
    svg.dataset.at = row;
  }

  function rowsOf(svg) {
    return [...new Set(marksOf(svg).map((mark) => mark.row))].sort((a, b) => a - b);
  }

  const panel = make("aside", "panel");
  panel.hidden = true;
  panel.tabIndex = -1;
  panel.setAttribute("aria-label", "The chosen evaluation");
  document.body.append(panel);

  function table(names, values, judge) {
    const list = make("dl", "pairs");
    names.forEach((name, i) => {
      if (values[i] === null) return;
      const entry = make("div");
      const value = make("dd", "", values[i]);
      if (judge) {
        const good = Number(values[i]) <= 0;
        value.append(" ", make("span", good ? "good" : "bad", good ? "✓ holds" : "✗ violated"));
      }
      entry.append(make("dt", "", name), value);
      list.append(entry);
    });
    return list;
  }

  function pin(name, focus) {
    pinned = name;
    clear("pinned");
    const row = name === null ? -1 : known.rows.findIndex((entry) => nameOf(entry[0], entry[7]) === name);
    panel.hidden = row < 0;
    if (row < 0) return;
    const [, , , , params, limits, printed] = known.rows[row];
    const close = make("button", "close", "close");
    close.type = "button";
    const [first, ...others] = inWords(row);
    panel.replaceChildren(close, make("h2", "", first), make("p", "", others.join(", ")), table(known.names, params));
    if (known.more > 0) panel.append(make("p", "quiet", `and ${known.more} more variables`));
    if (limits.some((amount) => amount !== null)) {
      panel.append(make("h3", "", "Constraints"), table(known.limits, limits, true));
    }
    if (printed) {
      const output = make("pre", "", printed);
      output.tabIndex = 0;
      panel.append(make("h3", "", "Printed"), output);
    }
    for (const svg of charts()) draw(svg, row, "pinned");
    if (focus) panel.focus({ preventScroll: true });
  }

  function charts() {
    return [...document.querySelectorAll("svg.chart")].filter((svg) => svg.querySelector("path[data-i]"));
  }

  // A chart becomes something that the keyboard can walk through, point by point.
  function upgrade() {
    for (const svg of charts()) {
      if (svg.getAttribute("role") === "slider") continue;
      const rows = rowsOf(svg);
      const best = rows[rows.length - 1];
      svg.setAttribute("role", "slider");
      svg.setAttribute("tabindex", "0");
      svg.setAttribute("aria-valuemin", "1");
      svg.setAttribute("aria-valuemax", rows.length);
      svg.setAttribute("aria-valuenow", rows.length);
      svg.setAttribute("aria-valuetext", inWords(best).join(", "));
      svg.setAttribute("aria-roledescription", "chart of points; arrow keys walk, Enter opens");
    }
    for (const name of document.querySelectorAll("span[data-trial]")) {
      const button = make("button", "trial", name.textContent);
      button.type = "button";
      button.dataset.name = nameOf(name.dataset.trial, name.dataset.study);
      button.setAttribute("aria-label", `open ${button.dataset.name}`);
      name.replaceWith(button);
    }
  }

  function chartAt(target) {
    const svg = target instanceof Element ? target.closest("svg.chart[role=slider]") : null;
    return svg;
  }

  function hover() {
    if (!pointer) return;
    const svg = chartAt(document.elementFromPoint(pointer.clientX, pointer.clientY));
    const found = svg && nearest(svg, pointer);
    if (found) point(svg, found.row);
    else if (!chartAt(document.activeElement)) point(null, null);
  }

  document.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    pointer = event;
    requestAnimationFrame(hover);
  });
  document.addEventListener("scroll", () => requestAnimationFrame(hover), { passive: true });
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    if (event.target.closest(".close")) return pin(null);
    const button = event.target.closest("button[data-name]");
    if (button) return pin(button.dataset.name, true);
    const svg = chartAt(event.target);
    const found = svg && nearest(svg, event);
    if (found) pin(inWords(found.row)[0]);
  });
  document.addEventListener("focusin", (event) => {
    const svg = chartAt(event.target);
    if (!svg || !svg.matches(":focus-visible")) return;
    const rows = rowsOf(svg);
    point(svg, svg.dataset.at ? Number(svg.dataset.at) : rows[rows.length - 1]);
  });
  document.addEventListener("focusout", (event) => {
    if (chartAt(event.target)) point(null, null);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      pin(null);
      point(null, null);
      return;
    }
    const svg = chartAt(event.target);
    if (!svg || event.ctrlKey || event.altKey || event.metaKey) return;
    const rows = rowsOf(svg);
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
    const now = rows.indexOf(Number(svg.dataset.at));
    let next = now < 0 ? rows.length - 1 : now;
    if (event.key in steps) next += steps[event.key];
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = rows.length - 1;
    else if (event.key === "Enter" || event.key === " ") pin(inWords(rows[next])[0], true);
    else return;
    event.preventDefault();
    next = Math.max(0, Math.min(rows.length - 1, next));
    if (event.key !== "Enter" && event.key !== " ") point(svg, rows[next]);
  });
  upgrade();

  // A page that is served changes by itself.
  if (!document.body.dataset.live) return;
  let version = document.body.dataset.live;
  let busy = false;
  let again = false;
  const status = make("p", "live", "live");
  const said = make("p", "unseen");
  said.setAttribute("role", "status");
  const aside = make("aside");
  aside.setAttribute("aria-label", "Whether this page is live");
  aside.append(status, said);
  document.body.prepend(aside);

  function bestValue() {
    const value = document.querySelector("#head .tiles dd");
    return value ? value.firstChild.textContent : "";
  }

  function replace(name, html) {
    const old = document.getElementById(name);
    const template = document.createElement("template");
    template.innerHTML = html;
    const fresh = template.content.firstElementChild;
    if (!old || !fresh) return;
    const active = old.contains(document.activeElement) ? document.activeElement : null;
    const all = "svg, button, .scroll, pre";
    const at = active ? [...old.querySelectorAll(all)].indexOf(active) : -1;
    const row = active && active.dataset.at;
    const scrolled = [...old.querySelectorAll(".scroll, pre")].map((box) => [box.scrollLeft, box.scrollTop]);
    old.replaceWith(fresh);
    upgrade();
    [...fresh.querySelectorAll(".scroll, pre")].forEach((box, i) => {
      if (scrolled[i]) [box.scrollLeft, box.scrollTop] = scrolled[i];
    });
    const again = at < 0 ? null : fresh.querySelectorAll(all)[at];
    if (!again) return;
    if (row && known.rows[row]) again.dataset.at = row;
    again.focus({ preventScroll: true });
  }

  async function refresh() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(`changes?since=${encodeURIComponent(version)}`, { cache: "no-store" });
      if (!answer.ok) return;
      const news = await answer.json();
      const before = bestValue();
      point(null, null);
      if (news.parts.trials) {
        document.getElementById("trials").textContent = news.parts.trials;
        known = read();
        delete news.parts.trials;
      }
      for (const [name, html] of Object.entries(news.parts)) replace(name, html);
      version = news.version;
      document.body.dataset.live = version;
      if (pinned !== null) pin(pinned);
      hover();
      if (bestValue() !== before) said.textContent = `best value ${bestValue()}`;
    } catch {
      // the server has gone; the events say so, and when it is back
    } finally {
      busy = false;
      if (again) {
        again = false;
        refresh();
      }
    }
  }

  const events = new EventSource("events");
  events.addEventListener("message", (event) => {
    status.textContent = "live";
    status.classList.remove("lost");
    if (event.data !== version) refresh();
  });
  events.addEventListener("error", () => {
    status.textContent = "not connected";
    status.classList.add("lost");
  });
})();
