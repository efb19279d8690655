import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { visibleText } from '../visible-text.ts';
import { Button } from './fields.tsx';

interface ToastItem {
  readonly id: number;
  readonly text: string;
  readonly undo: (() => void) | undefined;
}

const SECONDS = 5;
/** Choice: long enough to read the sentence and press the button. Source: the page of reviews takes a verdict back for 10 s. */
const UNDO_SECONDS = 10;
const ITEMS_MAX = 3;

const items = signal<readonly ToastItem[]>([]);
let nextId = 1;

/** Shows a sentence for 5 s; with `undo` for 10 s and a button. */
export function toast(text: string, undo?: () => void): void {
  const id = nextId++;
  items.value = [...items.peek(), { id, text, undo }].slice(-ITEMS_MAX);
  setTimeout(() => drop(id), (undo === undefined ? SECONDS : UNDO_SECONDS) * 1_000);
}

function drop(id: number): void {
  items.value = items.peek().filter((item) => item.id !== id);
}

/** Undoes the newest step that can be undone; false if there is none. For the key `z`. */
export function undoNewest(): boolean {
  const newest = items
    .peek()
    .reduce<ToastItem | undefined>((last, item) => (item.undo === undefined ? last : item), undefined);
  if (newest === undefined) return false;
  drop(newest.id);
  newest.undo?.();
  return true;
}

/** The container of all toasts, once in the shell. */
export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {items.value.map(({ id, text, undo }) => (
        <div key={id} class="toast">
          <span>{visibleText(text)}</span>
          {undo !== undefined && (
            <Button
              kind="quiet"
              small
              onClick={() => {
                drop(id);
                undo();
              }}
            >
              Undo
            </Button>
          )}
          <Button kind="quiet" small icon="close" label="Close" onClick={() => drop(id)} />
        </div>
      ))}
    </div>
  );
}
