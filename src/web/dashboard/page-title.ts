import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

/** What stands in the h1 in place of the page's own title; null: the title of `pages.ts`. */
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
