import { isTag, type ChildNode, type Element, type ParentNode } from 'domhandler';
import { isConsentNotice, noticesAround } from './consent.ts';
import type { HtmlPage } from './html.ts';

/** Elements whose content a browser does not show. A `dialog` is shown with `open`. */
const NEVER_SHOWN = new Set(['template', 'noscript', 'noframes', 'datalist']);
const HIDING_STYLE =
  /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|content-visibility\s*:\s*hidden|(?:left|right|top|text-indent)\s*:\s*-\d{4,})/i;

/**
 * Returns whether the element itself says that its content is not shown. Style sheets are not read. Choice: `opacity: 0` does not count,
 * because pages fade their content in.
 */
export function isHidden({ name, attribs }: Element): boolean {
  if (NEVER_SHOWN.has(name) || (name === 'dialog' && attribs['open'] === undefined)) return true;
  const { hidden, style, popover } = attribs;
  if (popover !== undefined) return true;
  if (hidden !== undefined && hidden.trim().toLowerCase() !== 'until-found') return !isPanel(attribs);
  if (style !== undefined && HIDING_STYLE.test(style)) return !isPanel(attribs);
  const isAside = attribs['aria-hidden']?.trim().toLowerCase() === 'true' && !isPanel(attribs);
  return isAside && name !== 'html' && name !== 'body';
}

/** Returns whether it is the panel of a tab, or of a heading that opens it: what readers see when they choose it. */
function isPanel({ role, 'aria-labelledby': label }: Element['attribs']): boolean {
  return role === 'tabpanel' || (role === 'region' && label !== undefined);
}

/** The outermost elements of a page that are hidden, or are a notice about cookies. */
export type Unread = ReadonlySet<Element>;

/** `scripts`: whether the page is read as a browser with scripts shows it, without what is meant for others. */
export function unreadOf(page: HtmlPage, scripts = true): Unread {
  const unread = new Set<Element>();
  const visit = (parent: ParentNode): void => {
    for (const child of parent.children) {
      if (!isTag(child)) continue;
      const isShown = !isHidden(child) || (child.name === 'noscript' && !scripts);
      if (!isShown || isConsentNotice(child)) unread.add(child);
      else visit(child);
    }
  };
  visit(page.root);
  for (const notice of noticesAround(page)) if (!isWithin(notice, unread)) unread.add(notice);
  return unread;
}

/** Returns whether a node is one of these elements or inside of one. */
export function isWithin(node: ChildNode, unread: Unread): boolean {
  for (let at: ChildNode | ParentNode | null = node; at !== null; at = at.parent)
    if (unread.has(at as Element)) return true;
  return false;
}

/**
 * Calls `read` with a tree whose `children` lack these elements. Readers that follow `next` still meet them. The tree is put back before
 * the call returns, so `read` must not keep parts of it for later.
 */
export function withoutUnread<T>(unread: Unread, read: () => T): T {
  const before = new Map<ParentNode, ChildNode[]>();
  for (const { parent } of unread) {
    if (parent === null || before.has(parent)) continue;
    before.set(parent, parent.children);
    parent.children = parent.children.filter((child) => !isTag(child) || !unread.has(child));
  }
  try {
    return read();
  } finally {
    for (const [parent, children] of before) parent.children = children;
  }
}
