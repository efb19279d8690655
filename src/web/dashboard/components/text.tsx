import type { JSX } from 'preact';
import { cutText, visibleText } from '../visible-text.ts';

/**
 * Text that a client may have chosen: evidence, agents, paths, notes, ids. Always a text node, never a link. Characters that cannot be seen
 * are written out; a text that is too long is cut and whole in the title.
 */
export function Text({
  value,
  charactersMax = 200,
  mono = false,
}: {
  readonly value: string | null | undefined;
  readonly charactersMax?: number;
  readonly mono?: boolean;
}): JSX.Element {
  if (value === null || value === undefined || value === '') return <span class="faint">–</span>;
  const visible = visibleText(value);
  const shown = cutText(visible, charactersMax);
  return (
    <bdi class={mono ? 'text mono' : 'text'} title={shown === visible ? undefined : cutText(visible, 2_000)}>
      {shown}
    </bdi>
  );
}
