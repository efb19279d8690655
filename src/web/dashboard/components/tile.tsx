import type { ComponentChildren, JSX } from 'preact';

/** One number with its name, and what it compares with. `href`: the page that explains it. */
export function Tile({
  title,
  value,
  note,
  children,
  href,
  tone,
}: {
  readonly title: string;
  readonly value: ComponentChildren;
  readonly note?: ComponentChildren;
  /** For example a sparkline. */
  readonly children?: ComponentChildren;
  readonly href?: string;
  readonly tone?: 'good' | 'bad' | 'warn' | undefined;
}): JSX.Element {
  return (
    <div class={href === undefined ? 'tile' : 'tile tile-linked'}>
      <dt class="tile-title">{href === undefined ? title : <a href={href}>{title}</a>}</dt>
      <dd class="tile-value num">{value}</dd>
      {note !== undefined && <dd class={`tile-note${tone === undefined ? '' : ` tone-${tone}`}`}>{note}</dd>}
      {children !== undefined && <dd class="tile-figure">{children}</dd>}
    </div>
  );
}

export function Tiles({
  children,
  label,
}: {
  readonly children: ComponentChildren;
  readonly label: string;
}): JSX.Element {
  return (
    <dl class="tiles" aria-label={label}>
      {children}
    </dl>
  );
}
