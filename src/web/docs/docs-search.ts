/** The search of the documentation: an index of all sections, loaded when the field is used. Text only, so that no page can inject any. */

/** Path of the page with the anchor, title of the page, heading, text in lower case. */
type Section = readonly [path: string, page: string, heading: string, text: string];

interface Found {
  readonly section: Section;
  readonly weight: number;
}

const RESULTS_MAX = 12;
const EXCERPT_BEFORE = 40;
const EXCERPT_CHARACTERS = 160;

let index: Promise<readonly Section[]> | null = null;

function loadIndex(): Promise<readonly Section[]> {
  index ??= fetch('/docs/assets/search.json').then(async (response) => {
    if (!response.ok) throw new Error(`status ${response.status}`);
    return (await response.json()) as readonly Section[];
  });
  return index;
}

/** Sections with all words, those first whose heading or page has them. */
function search(sections: readonly Section[], words: readonly string[]): readonly Found[] {
  const found: Found[] = [];
  for (const section of sections) {
    const [, page, heading, text] = section;
    const titles = [heading.toLowerCase(), page.toLowerCase()];
    if (!words.every((word) => text.includes(word) || titles.some((title) => title.includes(word)))) continue;
    const weight = words.reduce((sum, word) => {
      return sum + (titles[0]?.includes(word) === true ? 4 : 0) + (titles[1]?.includes(word) === true ? 2 : 0);
    }, 0);
    found.push({ section, weight });
  }
  return found.sort((a, b) => b.weight - a.weight).slice(0, RESULTS_MAX);
}

function excerptOf(text: string, words: readonly string[]): string {
  const at = Math.max(0, ...words.map((word) => text.indexOf(word)));
  const from = Math.max(0, at - EXCERPT_BEFORE);
  const cut = text.slice(from, from + EXCERPT_CHARACTERS);
  return `${from > 0 ? '…' : ''}${cut}${from + EXCERPT_CHARACTERS < text.length ? '…' : ''}`;
}

function show(list: HTMLElement, status: HTMLElement, found: readonly Found[], words: readonly string[]): void {
  list.replaceChildren(
    ...found.map(({ section: [path, page, heading, text] }) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = path;
      link.textContent = heading === page ? page : `${page}: ${heading}`;
      const excerpt = document.createElement('p');
      excerpt.textContent = excerptOf(text, words);
      item.append(link, excerpt);
      return item;
    }),
  );
  status.textContent = words.length === 0 ? '' : found.length === 0 ? 'Nothing found' : `${found.length} found`;
}

function start(field: HTMLInputElement, list: HTMLElement, status: HTMLElement): void {
  const update = async (): Promise<void> => {
    const words = field.value
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    try {
      const sections = words.length === 0 ? [] : await loadIndex();
      show(list, status, search(sections, words), words);
    } catch {
      index = null;
      status.textContent = 'The index cannot be loaded';
    }
  };
  field.addEventListener('input', () => void update());
  field.form?.addEventListener('submit', (event) => {
    event.preventDefault();
    list.querySelector('a')?.click();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && document.activeElement !== field) {
      event.preventDefault();
      field.focus();
    } else if (event.key === 'Escape' && document.activeElement === field) {
      field.value = '';
      void update();
    }
  });
  // A reader who comes back finds the field as the browser left it.
  void update();
}

const searchField = document.querySelector<HTMLInputElement>('#search');
const foundList = document.querySelector<HTMLElement>('#found');
const searchStatus = document.querySelector<HTMLElement>('#search-status');
if (searchField !== null && foundList !== null && searchStatus !== null) {
  searchField.form?.removeAttribute('hidden');
  start(searchField, foundList, searchStatus);
}
