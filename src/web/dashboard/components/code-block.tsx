import type { JSX } from 'preact';
import { cutText, visibleText } from '../visible-text.ts';
import { Copy } from './copy.tsx';

/** Choice: more than any code or body that a page shows; the copy is complete. */
const CHARACTERS_MAX = 20_000;

/** Several lines of code or data with a button that copies them. Characters that cannot be seen are written out. */
export function CodeBlock({
  text,
  label,
  wrap = false,
}: {
  readonly text: string;
  /** Name of the content, for the button and for screen readers. */
  readonly label: string;
  /** Scrolls where it is long: for data. */
  readonly wrap?: boolean;
}): JSX.Element {
  const lines = cutText(text, CHARACTERS_MAX).split('\n');
  const shown = lines.map((line) => visibleText(line.replaceAll('\t', '  '))).join('\n');
  return (
    <div class="code">
      <pre class={wrap ? 'code-wrap' : undefined} tabIndex={0} role="region" aria-label={label}>
        <code>{shown}</code>
      </pre>
      <Copy text={text} what={label} />
    </div>
  );
}
