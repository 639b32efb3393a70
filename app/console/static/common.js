// What the pages of the console share.

export const $ = (id) => document.getElementById(id);

// element makes an element with attributes and children. Strings become text.
export function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

// count is a number with its unit: "1 bit", "2 bits", "2 copies".
export const count = (n, unit, units = unit + "s") => `${n} ${n === 1 ? unit : units}`;

// here is a path below the page. Browsers refuse requests whose address has a user and a password, as that of the page may have.
export const here = (path) => new URL(path, location.origin + location.pathname).href;

export async function ask(url, options) {
  const response = await fetch(here(url), options);
  if (!response.ok) throw new Error((await response.text()).trim());
  return response.json();
}
