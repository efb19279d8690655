import { computed, signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Keys of the pages. `?` shows them; one switch turns all of them off (WCAG 2.1.4); none works while somebody types. */

export interface KeyBinding {
  /** One key, or two after each other: `/`, `j`, `g o`, `Escape`, `Enter`, `ArrowDown`. With Ctrl, Alt or Meta no key is ours. */
  readonly keys: string;
  /** Words for the table of keys. */
  readonly does: string;
  /** Returns false if the key did nothing here: the browser's own meaning then holds. */
  readonly run: (event: KeyboardEvent) => boolean | void;
  /** Hides it in the table, for an alias of another binding. */
  readonly hidden?: boolean;
}

interface KeyGroup {
  readonly title: string;
  readonly bindings: readonly KeyBinding[];
  /** The bindings of the last render, which know what the page shows now. */
  readonly latest: { readonly current: readonly KeyBinding[] };
}

const groups = signal<readonly KeyGroup[]>([]);

/** The keys that `?` lists. */
export const keyGroups = computed(() => groups.value.filter(({ bindings }) => bindings.some(({ hidden }) => !hidden)));

const OFF_COOKIE = 'gh_keys=off';
export const keysOn = signal(!document.cookie.includes(OFF_COOKIE));

/** Turns all keys on or off, for a year. */
export function switchKeys(isOn: boolean): void {
  keysOn.value = isOn;
  const attributes = 'Path=/dashboard; SameSite=Strict; Max-Age=';
  document.cookie = isOn ? `gh_keys=; ${attributes}0` : `${OFF_COOKIE}; ${attributes}31536000`;
}

/**
 * Adds keys while the component is on the page. They work as soon as the page is drawn: an effect after the paint would leave a moment in
 * which a key does nothing. `inputs`: what changes the table of keys.
 */
export function useKeys(title: string, bindings: readonly KeyBinding[], inputs: readonly unknown[]): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  useLayoutEffect(() => {
    const group: KeyGroup = { title, bindings, latest };
    groups.value = [...groups.peek(), group];
    return () => {
      groups.value = groups.peek().filter((other) => other !== group);
    };
  }, inputs);
}

export function isAnyDialogOpen(): boolean {
  return document.querySelector('dialog[open]') !== null;
}

const TYPED = /^(?:INPUT|TEXTAREA|SELECT)$/;
/** Choice: the time for the second of two keys. */
const SECOND_KEY_MS = 1_200;

let prefix = '';
let prefixTimer: ReturnType<typeof setTimeout> | undefined;

function onKeyDown(event: KeyboardEvent): void {
  if (!keysOn.peek() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const { target } = event;
  const isTyping = target instanceof HTMLElement && (TYPED.test(target.tagName) || target.isContentEditable);
  if (isTyping && !(event.key === 'Escape')) return;
  if (isAnyDialogOpen()) return;
  // Enter and space belong to whatever has the focus.
  const isOnControl = target instanceof HTMLElement && target.closest('a,button,summary,[role=option]') !== null;
  if (isOnControl && (event.key === 'Enter' || event.key === ' ')) return;
  const pressed = prefix === '' ? event.key : `${prefix} ${event.key}`;
  clearTimeout(prefixTimer);
  prefix = '';
  // The newest group first: a page may give a key another meaning.
  const all = [...groups.peek()].reverse().flatMap(({ latest }) => latest.current);
  for (const { keys, run } of all) {
    if (keys !== pressed) continue;
    if (run(event) === false) continue;
    event.preventDefault();
    return;
  }
  if (all.some(({ keys }) => keys.startsWith(`${event.key} `))) {
    prefix = event.key;
    prefixTimer = setTimeout(() => (prefix = ''), SECOND_KEY_MS);
  }
}

addEventListener('keydown', onKeyDown);
