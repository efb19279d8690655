import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

/** Text of the h1 instead of the page's own title; null: the title of `page-table.ts`. */
export const pageTitle = signal<string | null>(null);

/** Gives the page another title, for example that of one endpoint. */
export function usePageTitle(title: string | null): void {
  useEffect(() => {
    pageTitle.value = title;
    return () => {
      pageTitle.value = null;
    };
  }, [title]);
}
