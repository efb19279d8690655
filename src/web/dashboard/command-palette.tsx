import type { JSX } from 'preact';
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { Dialog } from './components/dialog.tsx';
import { type PaletteCommand, findCommands, valueCommands } from './find-commands.ts';
import { keyGroups } from './keyboard.ts';
import type { PageSpec } from './page-table.ts';
import { useLink } from './url-state.ts';
import { cutText, visibleText } from './visible-text.ts';

/** Keys that move within a page: they have no meaning in a list of commands. */
const MOVING = new Set(['j', 'k', 'Enter', 'Escape', 'ArrowUp', 'ArrowDown', 'Ctrl+K', '?']);

/** Pages, values and actions by keyboard: the first command that fits is selected, Enter runs it, Esc closes. */
export function CommandPalette({
  pages,
  tools,
  onClose,
}: {
  readonly pages: readonly PageSpec[];
  /** Actions of the top bar, by their words. */
  readonly tools: Readonly<Record<string, () => void>>;
  readonly onClose: () => void;
}): JSX.Element {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const { route } = useLocation();
  const link = useLink();
  const standing = useMemo(() => standingCommands(pages, tools, route, link), []);
  const found = useMemo(() => {
    const ofValue = valueCommands(text, route, link);
    // A search for the words is the last resort: `audit` means the page.
    const isSearch = ({ group }: PaletteCommand): boolean => group === 'Search';
    const opens = ofValue.filter((command) => !isSearch(command));
    return [...opens, ...findCommands(standing, text), ...ofValue.filter(isSearch)];
  }, [text]);
  const selected = Math.min(at, found.length - 1);
  useEffect(
    () => list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }),
    [selected, found],
  );
  // The dialog gives the focus back first: a command may move it.
  const run = (command: PaletteCommand | undefined): void => {
    if (command === undefined) return;
    onClose();
    setTimeout(command.run, 0);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    if (event.isComposing || (step === undefined && event.key !== 'Enter')) return;
    event.preventDefault();
    if (step === undefined) run(found[selected]);
    else if (found.length > 0) setAt((Math.max(0, selected) + step + found.length) % found.length);
  };
  return (
    <Dialog title="Commands" onClose={onClose} wide>
      <input
        class="input palette-input"
        type="text"
        role="combobox"
        aria-label="Page, value or action"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={selected < 0 ? undefined : `${id}-${selected}`}
        aria-autocomplete="list"
        placeholder="A page, an action, an id, e-mail, address or fingerprint"
        autoFocus
        autoComplete="off"
        spellcheck={false}
        maxLength={200}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul class="palette" id={`${id}-list`} role="listbox" aria-label="Commands" ref={list}>
        {found.map(({ group, title, keys }, n) => (
          <li
            key={`${group} ${title}`}
            id={`${id}-${n}`}
            class="palette-option"
            role="option"
            aria-selected={n === selected}
            onClick={() => run(found[n])}
          >
            <span class="palette-group">{group}</span>
            <span class="palette-title">{cutText(visibleText(title), 120)}</span>
            {keys !== undefined && <kbd aria-hidden="true">{keys}</kbd>}
          </li>
        ))}
      </ul>
      <p class="hidden-text" role="status">
        {found.length === 0 ? 'Nothing fits' : `${found.length} ${found.length === 1 ? 'command' : 'commands'}`}
      </p>
      {found.length === 0 && <p class="muted">Nothing fits. Clear the field to see every command.</p>}
    </Dialog>
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** Those that do not depend on what is typed: all pages, what the keys of the present page do, and the tools of the top bar. */
function standingCommands(
  pages: readonly PageSpec[],
  tools: Readonly<Record<string, () => void>>,
  route: (path: string) => void,
  link: (path: string) => string,
): readonly PaletteCommand[] {
  const listed = pages
    .filter(({ icon }) => icon !== undefined)
    .map(({ title, path, key }): PaletteCommand => ({
      group: 'Page',
      title,
      ...(key === undefined ? {} : { keys: `g ${key}` }),
      run: () => route(link(path)),
    }));
  // Those of the page first, as with the keys.
  const keyed = [...keyGroups.peek()]
    .reverse()
    .flatMap(({ bindings }) => bindings)
    .filter(({ keys, hidden }) => hidden !== true && !MOVING.has(keys) && !keys.startsWith('g '))
    .map(({ keys, does, run }): PaletteCommand => ({
      group: 'Action',
      title: does,
      keys,
      run: () => void run(new KeyboardEvent('keydown', { key: keys })),
    }));
  const others = Object.entries(tools).map(([title, run]): PaletteCommand => ({ group: 'Action', title, run }));
  return [...listed, ...keyed, ...others];
}
