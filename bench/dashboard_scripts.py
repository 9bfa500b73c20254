"""What runs in the browser to measure the dashboard. Times are in milliseconds."""

LISTEN = """() => {
  const socket = new WebSocket(`${location.origin.replace("http", "ws")}/ws`);
  let heard = 0;
  socket.onopen = () => socket.send('{"type":"subscribe"}');
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.type === "subscribed") window.isListening = true;
    else document.body.textContent = `Change ${heard++}!`;
  };
}"""

NOTE_CHANGES = """() => {
  window.seen = {};
  const note = (changes) => {
    for (const { target } of changes) {
      const text = target.textContent.match(/Change \\d+!/)?.[0];
      if (text) window.seen[text] ??= performance.timeOrigin + performance.now();
    }
  };
  const all = { subtree: true, childList: true, characterData: true };
  new MutationObserver(note).observe(document.body, all);
}"""

NOTE_BUTTON = """(name) => {
  window.buttonThere = 0;
  const isThere = () =>
    [...document.querySelectorAll("button")].some((each) => each.textContent.startsWith(name));
  const observer = new MutationObserver(() => {
    if (!isThere()) return;
    window.buttonThere = performance.timeOrigin + performance.now();
    observer.disconnect();
  });
  observer.observe(document.body, { subtree: true, childList: true, characterData: true });
}"""

READ_ALL = """async () => {
  const begin = performance.now();
  let cursor = "";
  do {
    const page = await (await fetch(`/api/v1/tasks?limit=1000${cursor}`)).json();
    cursor = page.next_cursor ? `&cursor=${encodeURIComponent(page.next_cursor)}` : "";
  } while (cursor);
  return performance.now() - begin;
}"""

WHEN_ALL_ARE_COUNTED = """
const all = %d;
const counts = () => [...document.querySelectorAll("[data-place] > h3 span")];
const number = ({ textContent }) => Number(textContent.replace(",", ""));
const many = () => counts().reduce((sum, each) => sum + number(each), 0);
new MutationObserver(() => {
  if (!window.countedAfter && many() === all) window.countedAfter = performance.now();
}).observe(document, { subtree: true, childList: true, characterData: true });
"""

NOTE_LONG_TASKS = """() => {
  window.longest = 0;
  window.observer = new PerformanceObserver((list) => window.note(list.getEntries()));
  window.note = (entries) => {
    for (const { duration } of entries) window.longest = Math.max(window.longest, duration);
  };
  window.observer.observe({ type: "longtask" });
}"""

LONGEST_TASK = """() => {
  window.note(window.observer.takeRecords());
  return window.longest;
}"""

NEXT_FRAME = "() => new Promise((next) => requestAnimationFrame(() => next()))"

HAS_HEARD = """(seq) => {
  const shown = document.querySelector("[data-connection]")?.textContent ?? "";
  return Number(shown.replaceAll(",", "").match(/seq (\\d+)/)?.[1]) >= seq;
}"""


def when_there(*selectors: str) -> str:
    """Note when all of these are on the page."""
    there = " && ".join(f"document.querySelector('{each}')" for each in selectors)
    return f"""new MutationObserver(() => {{
      if (!window.thereAfter && {there}) window.thereAfter = performance.now();
    }}).observe(document, {{ subtree: true, childList: true, attributes: true }});"""
