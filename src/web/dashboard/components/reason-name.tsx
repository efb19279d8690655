import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { asWords } from '../format.ts';
import { cutText, visibleText } from '../visible-text.ts';

/** Loaded after the first page, which it would make 2 KB larger: until then a reason has its words. */
const titleOf = signal(asWords);
void import('../../../contract/reason-titles.ts').then(({ reasonTitle }) => (titleOf.value = reasonTitle));

/** A reason as people read it. Its code is the tooltip, or stands behind it. */
export function ReasonName({
  code,
  withCode = false,
}: {
  readonly code: string;
  readonly withCode?: boolean;
}): JSX.Element {
  const shown = cutText(visibleText(code), 60);
  return (
    <>
      <span title={withCode ? undefined : shown}>{cutText(visibleText(titleOf.value(code)), 60)}</span>
      {withCode && <code class="reason-code"> {shown}</code>}
    </>
  );
}
