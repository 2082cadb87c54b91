// Names come from outside: a resource may be called constructor, or __proto__. So whatever is looked up by such a name has no
// prototype: answers are read here, and tables are written as { __proto__: null, ... }.

export const parseJSON = (text) => bare(JSON.parse(text));
export const fromEntries = (entries) => Object.setPrototypeOf(Object.fromEntries(entries), null);

// bare removes the prototypes of all objects in an answer; lists keep theirs.
function bare(value) {
  if (value === null || typeof value !== 'object') return value;
  for (const part of Object.values(value)) bare(part);
  return Array.isArray(value) ? value : Object.setPrototypeOf(value, null);
}
