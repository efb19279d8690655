/** Loads the styles of a page (`<name>.lazy.css`, whose import is its URL) with the page, so that it is never seen without them. */
export async function withStyle<T>(hrefs: readonly string[], page: Promise<T>): Promise<T> {
  await Promise.all(hrefs.map(load));
  return page;
}

const loads = new Map<string, Promise<void>>();

function load(href: string): Promise<void> {
  const known = loads.get(href);
  if (known !== undefined) return known;
  const loading = new Promise<void>((resolve) => {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = href;
    link.addEventListener('load', () => resolve());
    // A page without its styles is better than no page.
    link.addEventListener('error', () => resolve());
    document.head.append(link);
  });
  loads.set(href, loading);
  return loading;
}
