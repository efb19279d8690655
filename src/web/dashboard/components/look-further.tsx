import type { JSX } from 'preact';
import { Button } from './fields.tsx';
import { Empty } from './state-view.tsx';

/** Shown when one call found nothing in the rows that it searched, although there are older rows. */
export function LookFurther({
  pages,
  what,
}: {
  readonly pages: { readonly loadingMore: boolean; readonly loadMore: () => void };
  /** In the plural: `deliveries`. */
  readonly what: string;
}): JSX.Element {
  return (
    <Empty title={`None among the newest ${what}`}>
      <p>There are older ones: narrow the filter, or continue the search.</p>
      <Button onClick={pages.loadMore} disabled={pages.loadingMore}>
        {pages.loadingMore ? 'Looking…' : 'Continue'}
      </Button>
    </Empty>
  );
}
