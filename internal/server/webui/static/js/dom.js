// Builds and updates the page. A view is a function from data to elements; morph changes what is shown into
// that, and keeps what is the same: focus, scroll positions and selections survive an update.
// Nothing here reads HTML from text, so data cannot become markup.

const SVG = 'http://www.w3.org/2000/svg';
const svgTags = new Set(['svg', 'path', 'rect', 'line', 'circle', 'g', 'text', 'title-svg', 'polyline', 'defs', 'clipPath']);

// h creates an element: attributes, style (an object), handlers (onclick: f), key, and children.
export function h(tag, attrs, ...children) {
  const el = svgTags.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  el.handlers = {};
  for (const [name, value] of Object.entries(attrs ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'style') setStyle(el, value);
    else if (name === 'key') el.key = value;
    else if (name.startsWith('on')) el.handlers[name.slice(2)] = value;
    else if (name === 'value') { el.value = value; el.wanted = value; }
    else el.setAttribute(name, value === true ? '' : value);
  }
  for (const type of Object.keys(el.handlers)) el.addEventListener(type, dispatch);
  append(el, children);
  return el;
}

function dispatch(event) { this.handlers[event.type]?.call(this, event); }

function setStyle(el, style) {
  el.styles = style;
  for (const [name, value] of Object.entries(style)) el.style.setProperty(name, value);
}

function append(el, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(el, child);
    else if (child instanceof Node) el.append(child);
    else if (child !== undefined && child !== null && child !== false) el.append(String(child));
  }
}

// component creates an element whose inside belongs to kind: mount(el, props), and then update(el, props).
export function component(kind, props, attrs) {
  const el = h(kind.tag ?? 'div', attrs);
  el.component = { kind, props };
  return el;
}

function activate(node) {
  if (node.component && !node.component.mounted) {
    node.component.mounted = true;
    node.component.kind.mount(node, node.component.props);
    return;
  }
  for (const child of node.children ?? []) activate(child);
}

function deactivate(node) {
  if (node.component?.mounted) node.component.kind.unmount?.(node);
  else for (const child of node.children ?? []) deactivate(child);
}

// morph makes the children of parent equal to those of the array next.
export function morph(parent, next) {
  const wanted = [];
  const flatten = (list) => {
    for (const x of list) {
      if (Array.isArray(x)) flatten(x);
      else if (x instanceof Node) wanted.push(x);
      else if (x !== undefined && x !== null && x !== false) wanted.push(document.createTextNode(String(x)));
    }
  };
  flatten(next);
  const keyed = new Map();
  for (const old of parent.childNodes) if (old.key !== undefined) keyed.set(old.key, old);
  let at = parent.firstChild;
  for (const want of wanted) {
    let have = at;
    if (want.key !== undefined && keyed.has(want.key)) {
      have = keyed.get(want.key);
      if (have !== at) parent.insertBefore(have, at);
    }
    if (have && same(have, want)) {
      at = have.nextSibling;
      patch(have, want);
    } else {
      parent.insertBefore(want, at);
      activate(want);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    deactivate(gone);
    gone.remove();
  }
}

function same(have, want) {
  return have.nodeName === want.nodeName && have.key === want.key && have.component?.kind === want.component?.kind;
}

function patch(have, want) {
  if (have.nodeType === Node.TEXT_NODE) {
    if (have.data !== want.data) have.data = want.data;
    return;
  }
  if (!have.component) for (const { name } of [...have.attributes]) if (name !== 'style' && name !== 'open' && !want.hasAttribute(name)) have.removeAttribute(name);
  for (const { name, value } of want.attributes) if (name !== 'style' && have.getAttribute(name) !== value) have.setAttribute(name, value);
  const before = have.styles ?? {};
  const after = want.styles ?? {};
  for (const name of Object.keys(before)) if (!(name in after)) have.style.removeProperty(name);
  for (const [name, value] of Object.entries(after)) if (before[name] !== value) have.style.setProperty(name, value);
  have.styles = after;
  for (const type of Object.keys(want.handlers ?? {})) if (!have.handlers[type]) have.addEventListener(type, dispatch);
  have.handlers = want.handlers ?? {};
  if (want.wanted !== undefined && have.wanted !== want.wanted && document.activeElement !== have) have.value = want.wanted;
  have.wanted = want.wanted;
  if (have.component) {
    have.component.props = want.component.props;
    have.component.kind.update(have, want.component.props);
    return;
  }
  morph(have, [...want.childNodes]);
}

export function announce(text) {
  const at = document.getElementById('announce');
  if (at.textContent !== text) at.textContent = text;
}

// A tooltip for elements with data-tip, which appear in great numbers.
let tip;
export function followTips(root) {
  const hide = () => { tip?.remove(); tip = undefined; };
  root.addEventListener('pointerover', (event) => {
    const target = event.target.closest?.('[data-tip]');
    if (!target) return hide();
    tip ??= document.body.appendChild(h('div', { class: 'tip', role: 'tooltip' }));
    tip.textContent = target.dataset.tip;
    const box = target.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - own.width - 8))}px`;
    tip.style.top = `${box.bottom + own.height + 12 > innerHeight ? box.top - own.height - 6 : box.bottom + 6}px`;
  });
  root.addEventListener('pointerleave', hide);
  addEventListener('hashchange', hide);
}
