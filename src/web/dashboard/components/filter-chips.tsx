import type { JSX } from 'preact';
import { type UrlChange, useUrlState } from '../url-state.ts';
import { visibleText } from '../visible-text.ts';
import { Icon } from './icon.tsx';

export interface Chip {
  readonly id: string;
  readonly name: string;
  readonly value: string;
  /** The URL without this filter. */
  readonly without: string;
}

/** Filters that are in force, each a link to the same page without it. */
export function FilterChips({
  chips,
  clear,
}: {
  readonly chips: readonly Chip[];
  readonly clear: string;
}): JSX.Element | null {
  if (chips.length === 0) return null;
  return (
    <ul class="chips" aria-label="Filters">
      {chips.map(({ id, name, value, without }) => (
        <li key={id}>
          <a class="chip" href={without}>
            <span class="hidden-text">Remove the filter </span>
            <span class="chip-name">{name}</span>
            <bdi>{visibleText(value)}</bdi>
            <Icon name="close" size={12} />
          </a>
        </li>
      ))}
      {chips.length > 1 && (
        <li>
          <a class="chip chip-clear" href={clear}>
            Clear all
          </a>
        </li>
      )}
    </ul>
  );
}

/** One of a few values, as links: `All · Block · Review`. */
export function Segments({
  label,
  options,
}: {
  readonly label: string;
  readonly options: readonly { readonly title: string; readonly href: string; readonly isOn: boolean }[];
}): JSX.Element {
  return (
    <nav class="segments" aria-label={label}>
      {options.map(({ title, href, isOn }) => (
        <a key={title} href={href} aria-current={isOn ? 'true' : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}

/** `Segments` for the values of one parameter of the URL, after "All", which removes it. A change also sets the parameters of `also`. */
export function ValueSegments({
  label,
  name,
  values,
  also,
}: {
  readonly label: string;
  readonly name: string;
  /** Value and title. */
  readonly values: readonly (readonly [string, string])[];
  readonly also?: UrlChange;
}): JSX.Element {
  const url = useUrlState();
  const present = values.find(([value]) => value === url.get(name))?.[0] ?? '';
  return (
    <Segments
      label={label}
      options={[['', 'All'] as const, ...values].map(([value, title]) => ({
        title,
        href: url.href({ ...also, [name]: value }),
        isOn: value === present,
      }))}
    />
  );
}
