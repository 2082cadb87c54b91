// A list that draws only the rows that are seen: ten thousand rows cost as much as forty. Rows have the same
// height. The arrow keys move, Home and End jump, Enter opens; left and right are for the caller.
import { component, morph, h } from './dom.js';

const spare = 6; // rows above and below what is seen

const kind = {
  mount(el, props) {
    const space = h('div', { class: 'space' });
    el.append(space);
    el.list = { space, active: -1, id: `l${Math.random().toString(36).slice(2, 8)}` };
    el.addEventListener('scroll', () => schedule(el), { passive: true });
    el.addEventListener('keydown', (event) => onKey(el, event));
    el.addEventListener('click', (event) => onClick(el, event));
    el.list.observer = new ResizeObserver(() => schedule(el));
    el.list.observer.observe(el);
    this.update(el, props);
  },
  update(el, props) {
    el.setAttribute('role', props.role ?? 'grid');
    el.setAttribute('aria-label', props.label);
    el.setAttribute('aria-rowcount', props.rows.length);
    el.tabIndex = 0;
    el.list.props = props;
    if (props.selected !== undefined && props.selected !== el.list.selected) {
      const at = props.rows.findIndex((row) => props.id(row) === props.selected);
      if (at >= 0) { el.list.active = at; reveal(el, at); }
    }
    el.list.selected = props.selected;
    el.list.activeID && (el.list.active = props.rows.findIndex((row) => props.id(row) === el.list.activeID));
    draw(el);
  },
  unmount(el) { el.list.observer.disconnect(); },
};

export const vlist = (props, attrs) => component(kind, props, { class: 'vlist', ...attrs });

function schedule(el) {
  el.list.frame ??= requestAnimationFrame(() => { el.list.frame = undefined; draw(el); });
}

function draw(el) {
  const { space, props, id } = el.list;
  const { rows, height } = props;
  const first = Math.max(0, Math.floor(el.scrollTop / height) - spare);
  const last = Math.min(rows.length, Math.ceil((el.scrollTop + el.clientHeight) / height) + spare);
  space.style.height = `${rows.length * height}px`;
  const drawn = [];
  for (let i = first; i < last; i++) {
    const row = rows[i];
    const key = props.id(row);
    const state = (i === el.list.active ? ' active' : '') + (props.selected !== undefined && key === props.selected ? ' selected' : '');
    drawn.push(h('div', {
      key, class: `vrow ${props.columns}${state}`, role: 'row', id: `${id}-${i}`, 'aria-rowindex': i + 1, 'aria-selected': key === props.selected ? 'true' : 'false',
      'data-index': i, style: { transform: `translateY(${i * height}px)`, height: `${height}px` }, ...props.rowAttrs?.(row),
    }, props.render(row)));
  }
  morph(space, drawn);
  const activeSeen = el.list.active >= first && el.list.active < last;
  if (activeSeen) el.setAttribute('aria-activedescendant', `${id}-${el.list.active}`);
  else el.removeAttribute('aria-activedescendant');
  props.onSeen?.(rows.slice(Math.max(0, Math.floor(el.scrollTop / height)), Math.ceil((el.scrollTop + el.clientHeight) / height)));
}

function reveal(el, i) {
  const { height } = el.list.props;
  const top = i * height;
  if (top < el.scrollTop) el.scrollTop = top;
  else if (top + height > el.scrollTop + el.clientHeight) el.scrollTop = top + height - el.clientHeight;
}

function activate(el, i) {
  const { props } = el.list;
  const at = Math.max(0, Math.min(props.rows.length - 1, i));
  if (at < 0) return;
  el.list.active = at;
  el.list.activeID = props.id(props.rows[at]);
  reveal(el, at);
  draw(el);
}

function onKey(el, event) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target !== el) return;
  const { props, active } = el.list;
  const page = Math.max(1, Math.floor(el.clientHeight / props.height) - 1);
  const moves = { ArrowDown: active + 1, ArrowUp: active < 0 ? 0 : active - 1, Home: 0, End: props.rows.length - 1, PageDown: active + page, PageUp: active - page };
  if (event.key in moves) activate(el, moves[event.key]);
  else if (active >= 0 && (event.key === 'Enter' || event.key === ' ')) props.onOpen?.(props.rows[active]);
  else if (active >= 0 && (event.key === 'ArrowRight' || event.key === 'ArrowLeft') && props.onSide) {
    const to = props.onSide(props.rows[active], event.key === 'ArrowRight');
    if (to) activate(el, el.list.props.rows.findIndex((row) => el.list.props.id(row) === to));
  } else return;
  event.preventDefault();
}

function onClick(el, event) {
  const row = event.target.closest('.vrow');
  if (!row || event.defaultPrevented || event.target.closest('a, button')) return;
  const { props } = el.list;
  const at = Number(row.dataset.index);
  el.list.active = at;
  el.list.activeID = props.id(props.rows[at]);
  props.onOpen?.(props.rows[at]);
  draw(el);
}
