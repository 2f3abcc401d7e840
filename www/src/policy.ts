// What the page asks of the browser beyond its Content-Security-Policy's words: scripts come from where the page comes from,
// and no text ever becomes markup. (`require-trusted-types-for 'script'` makes the browser refuse whatever this does not allow.)

interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): unknown;
}

const { trustedTypes } = globalThis as { trustedTypes?: PolicyFactory };

trustedTypes?.createPolicy("default", {
  createScriptURL: (url) => {
    if (new URL(url, location.href).origin !== location.origin) throw new TypeError(`a script from elsewhere: ${url}`);
    return url;
  },
});

export {};
