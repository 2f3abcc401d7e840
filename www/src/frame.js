// The head of a frame in another page: nothing else is fetched before the frame can be seen. What it is given is what the page itself begins with.
(() => {
  const { styles, modules, entries } = FILES;
  const link = (rel, href) => {
    const made = Object.assign(document.createElement("link"), { rel, href, crossOrigin: "anonymous" });
    document.head.append(made);
    return new Promise((done) => made.addEventListener("load", done));
  };
  const seen = new IntersectionObserver((changes) => {
    if (!changes.some(({ isIntersecting }) => isIntersecting)) return;
    seen.disconnect();
    const styled = Promise.all(styles.map((href) => link("stylesheet", href)));
    for (const href of [...modules, ...entries]) void link("modulepreload", href);
    void styled.then(async () => {
      for (const entry of entries) await import(entry);
    });
  });
  seen.observe(document.documentElement);
})();
