// Sets the colours before anything is painted: `data-theme` of the root is "light" or "dark", `data-wanted` what is wanted, "system" too.
// It stands in every page's head, so it is kept small, and as it is.
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const options = new URLSearchParams(location.search);
  let wanted = options.get("theme");
  try {
    // A frame in another page keeps nothing, and follows nothing that was kept.
    if (!options.has("embed") && !location.pathname.endsWith("/embed.html")) wanted ??= localStorage.getItem("aot-playground/theme");
  } catch {}
  const show = () => {
    const { wanted } = root.dataset;
    root.dataset.theme = wanted === "system" ? (dark.matches ? "dark" : "light") : wanted;
    // Until the styles are there, too.
    root.style.colorScheme = root.dataset.theme;
  };
  root.dataset.wanted = wanted === "light" || wanted === "dark" ? wanted : "system";
  dark.addEventListener("change", show);
  addEventListener("theme", show);
  show();
})();
