import type { ComponentChildren, JSX } from 'preact';
import { useLocation } from 'preact-iso/router';
import { useEffect, useRef } from 'preact/hooks';
import { useKeys } from '../keyboard.ts';
import { Icon } from './icon.tsx';

/** A part beside a list, closed by Esc or its link. On narrow screens it covers the list. */
export function Pane({
  title,
  closeHref,
  children,
  actions,
}: {
  readonly title: string;
  /** The URL of the list alone. */
  readonly closeHref: string;
  readonly children: ComponentChildren;
  readonly actions?: ComponentChildren;
}): JSX.Element {
  const { route } = useLocation();
  const pane = useRef<HTMLElement>(null);
  useKeys('Pane', [{ keys: 'Escape', does: 'Close', run: () => route(closeHref) }], [closeHref, route]);
  useEffect(() => pane.current?.scrollTo({ top: 0 }), [title]);
  return (
    <aside class="pane" aria-label={title} ref={pane}>
      <header class="pane-head">
        <h2>{title}</h2>
        <span class="pane-actions">{actions}</span>
        <a class="button button-quiet button-icon" href={closeHref} aria-label="Close" title="Close (Esc)">
          <Icon name="close" />
        </a>
      </header>
      <div class="pane-body">{children}</div>
    </aside>
  );
}

/** A list with a pane beside it; `pane` null: the list alone. */
export function WithPane({
  pane,
  children,
}: {
  readonly pane: JSX.Element | null;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <div class={pane === null ? 'with-pane' : 'with-pane with-pane-open'}>
      {children}
      {pane}
    </div>
  );
}

/** A titled part of a page. `actions` stand at the right of its heading. */
export function Section({
  title,
  note,
  actions,
  children,
  flush = false,
  headless = false,
}: {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  /** The content reaches the border: tables. */
  readonly flush?: boolean;
  /** The title is only read out: a chart shows its own. */
  readonly headless?: boolean;
}): JSX.Element {
  return (
    <section class={flush ? 'section section-flush' : 'section'} aria-label={title}>
      {headless ? (
        <h2 class="hidden-text">{title}</h2>
      ) : (
        <header class="section-head">
          <h2>{title}</h2>
          {note !== undefined && <span class="section-note">{note}</span>}
          {actions !== undefined && <span class="section-actions">{actions}</span>}
        </header>
      )}
      <div class="section-body">{children}</div>
    </section>
  );
}
