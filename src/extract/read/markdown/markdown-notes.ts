import { isTag, type Element, type ParentNode } from 'domhandler';
import { attribute, textBeginning } from '../html.ts';

/** Choice: longer texts are not the sign of a footnote. */
const LABEL_CHARACTERS_MAX = 12;
const LABEL = /^[\p{L}\p{N}*†‡§-]{1,8}$/u;
/** Beginnings of the ids that programs give to footnotes. */
const NOTE_ID = /^(?:user-content-)?(?:fn|_?ftn|footnote|cite[_-]?note|note|endnote|bib|_edn)/i;
const REFERENCE_CLASS = /(?:^|\s)(?:footnote-ref|footnote-anchor|footnote-reference|noteref)(?:\s|$)/i;
const BACK_CLASS =
  /(?:^|\s)(?:footnote-backref|footnote-backlink|footnote-back|fn-backlink|mw-cite-backlink|reversefootnote|data-footnote-backref)(?:\s|$)/i;

/** Returns whether an element leads from a footnote back to its text. */
export function isBackLink({ attribs }: Element): boolean {
  return attribs['role'] === 'doc-backlink' || BACK_CLASS.test(attribs['class'] ?? '');
}

/** The footnotes of a text: a link that leads to one is written as its sign, and the note begins with the same sign. */
export class FootNotes {
  /** Id of a note → its label. */
  readonly #labels = new Map<string, string>();
  readonly #used = new Set<string>();
  readonly #begun = new Set<string>();

  /** Returns the label of the footnote that a link leads to; null for any other link. `isRaised`: the link is all that is in a `sup`. */
  labelOfLink(link: Element, isRaised: boolean): string | null {
    const href = attribute(link, 'href');
    const hash = href === null ? -1 : href.indexOf('#');
    if (href === null || hash < 0) return null;
    const id = href.slice(hash + 1);
    const known = this.#labels.get(id);
    if (known !== undefined) return known;
    const names = `${attribute(link, 'class') ?? ''} ${attribute(link, 'data-component-name') ?? ''}`;
    const isReference =
      REFERENCE_CLASS.test(names) || attribute(link, 'role') === 'doc-noteref' || (isRaised && NOTE_ID.test(id));
    return isReference ? this.#labelFor(id, textBeginning(link, LABEL_CHARACTERS_MAX)) : null;
  }

  /** Returns the label of the note that an element is, until `begin` is called for it; null for any other element. */
  labelOfBody({ attribs }: Element): string | null {
    const { id } = attribs;
    return id === undefined || this.#begun.has(id) ? null : (this.#labels.get(id) ?? null);
  }

  begin({ attribs }: Element): void {
    if (attribs['id'] !== undefined) this.#begun.add(attribs['id']);
  }

  #labelFor(id: string, sign: string): string | null {
    const own = sign.replaceAll(/[[\]()\s]/g, '');
    if (!LABEL.test(own)) return null;
    const label = this.#used.has(own) ? `${own}-${this.#used.size + 1}` : own;
    this.#used.add(label);
    this.#labels.set(id, label);
    return label;
  }
}

/** Returns whether a list item shows a box to tick, and whether it is ticked; null without one. */
export function tickOf(item: ParentNode, depthLeft = 3): boolean | null {
  for (const child of item.children) {
    if (!isTag(child)) {
      if ('data' in child && child.data.trim() !== '') return null;
      continue;
    }
    if (child.name === 'input') return attribute(child, 'type') === 'checkbox' ? 'checked' in child.attribs : null;
    const isAround = child.name === 'p' || child.name === 'label' || child.name === 'span' || child.name === 'div';
    return isAround && depthLeft > 0 ? tickOf(child, depthLeft - 1) : null;
  }
  return null;
}
