import { readSearch } from './decision-search.ts';
import { decisionPath, kindWords, linkPath } from './link-path.ts';
import { HASH_FORM, REQUEST_ID_FORM } from './value-forms.ts';

/** The commands that the palette offers for a text. */
export interface PaletteCommand {
  readonly group: 'Open' | 'Search' | 'Page' | 'Action';
  readonly title: string;
  /** The keys that do the same. */
  readonly keys?: string;
  readonly run: () => void;
}

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const IPV6 = /^[0-9a-f:]*:[0-9a-f:.]*:[0-9a-f:.]*$/i;
const NETWORK = /^[0-9a-f:.]+\/\d{1,3}$/i;

/** Returns the pages of a value: its own, and the search of decisions for it. Empty for an empty text. */
export function valueCommands(
  typed: string,
  route: (path: string) => void,
  link: (path: string, query?: Readonly<Record<string, string>>) => string,
): readonly PaletteCommand[] {
  const text = typed.trim();
  if (text === '') return [];
  const open = (title: string, path: string): PaletteCommand => ({ group: 'Open', title, run: () => route(path) });
  const search: PaletteCommand = {
    group: 'Search',
    title: `Search decisions for ${text}`,
    run: () => route(link('/dashboard/decisions', { q: text })),
  };
  if (REQUEST_ID_FORM.test(text)) return [open(`Decision ${text}`, decisionPath(text))];
  const linked = linkOf(text);
  if (linked === null) return [search];
  const [kind, value] = linked;
  return [open(`Links of the ${kindWords(kind)} ${value}`, linkPath(kind, value)), search];
}

/** The kind and the value of a text that names one thing; null for words, and for a search with several terms. */
function linkOf(text: string): readonly [kind: string, value: string] | null {
  if (IPV4.test(text) || IPV6.test(text)) return ['ip', text];
  if (NETWORK.test(text)) return ['network', text];
  if (HASH_FORM.test(text)) return ['fingerprint', text.toLowerCase()];
  const { terms, filters, faults } = readSearch(text);
  if (terms.length !== 1 || faults.length > 0) return null;
  if (filters.fingerprint_hash !== undefined) return ['fingerprint', filters.fingerprint_hash];
  const { link = '' } = filters;
  const colon = link.indexOf(':');
  return colon < 1 ? null : [link.slice(0, colon), link.slice(colon + 1)];
}

/** Those that have every word of the text in their title or group, titles that begin with it first. */
export function findCommands(commands: readonly PaletteCommand[], typed: string): readonly PaletteCommand[] {
  const text = typed.trim().toLowerCase();
  const parts = text.split(/\s+/);
  const found = commands.filter(({ group, title }) => {
    const whole = `${group} ${title}`.toLowerCase();
    return parts.every((part) => whole.includes(part));
  });
  const rank = ({ title }: PaletteCommand): number => (title.toLowerCase().startsWith(text) ? 0 : 1);
  return [...found].sort((a, b) => rank(a) - rank(b));
}
