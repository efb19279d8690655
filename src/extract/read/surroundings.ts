import { isTag, isText, type Element, type ParentNode } from 'domhandler';
import { attribute, elementsNamed, scriptText, type HtmlPage } from './html.ts';
import { collapse } from './page-text.ts';

/** What sites call the parts around a text, and the headings of such parts. */

/** Elements that are never part of a page's text. */
const AROUND: ReadonlySet<string> = new Set(
  'nav footer aside form button select dialog menu template script style noscript svg iframe textarea head'.split(' '),
);

const AROUND_ROLE =
  /^(?:navigation|complementary|banner|contentinfo|search|dialog|alertdialog|menu|menubar|toolbar|tooltip)$/i;

/** Source: class words of common content managers, shops and forums, between hyphens, underscores or spaces. */
const AROUND_WORDS = words(
  'related',
  String.raw`recommend\w*`,
  String.raw`recirc\w*`,
  'more-(?:from|stories|posts|articles|reading)',
  'also-?like',
  'trending',
  'most-?read',
  String.raw`promos?|promoted|promotions?|promobox`,
  String.raw`sponsor\w*`,
  String.raw`advert\w*`,
  'ads?',
  'outbrain',
  'taboola',
  'shar(?:e|ing)',
  'share-?bar',
  'social',
  'follow-us',
  'newsletter',
  'subscribe',
  'sign-?up',
  'paywall',
  String.raw`cookie\w*`,
  'consent',
  'gdpr',
  'breadcrumbs?',
  'pagination',
  'pager',
  String.raw`post-nav\w*`,
  'navigation',
  'navbar',
  'side-?bar',
  'tags?-list',
  'post-tags',
  'tagcloud',
  'author-(?:bio|box|card|info|about)',
  'about-(?:the-)?author',
  'bio-box',
  'byline',
  'dateline',
  '(?:post|entry|article)-?meta',
  'comment-?form',
  'respond',
  'skip-link',
  'jump-links?',
  'toc',
  'table-of-contents',
  'rating-widget',
  'edit-page',
  'prev-next',
  'site-?(?:footer|header)',
  'global-nav',
  'facets?',
  'filters',
  'mini-?cart',
  String.raw`cart-(?:drawer|notification)`,
);

/** Words that also name a style or a place of something else, and therefore count only as a whole class or id. */
const AROUND_NAMES = new Set(
  `hidden visually-hidden sr-only screen-reader-text screen-reader-only visuallyhidden print print-only noprint overlay modal popup
  popover menu submenu sub-menu toolbar widget popular banner masthead copyright disclaimer legal feedback login metadata meta-data
  crumbs read-more readmore tags lightbox filter sorting sort-by post-author postprofile poster message-cell--user message-userdetails
  signature user-signature user-info userinfo user-details user-card postauthor
  js-post-comments-component post-signature author-profile dropdown-menu`.split(/\s+/),
);

/** Words of the part that has the text, whatever other words stand beside them. */
const TEXT_WORDS = words(
  '(?:article|post|story|content)-?body',
  '(?:post|entry|article|main|page)-?content',
  'markdown',
  'prose',
);

const COMMENT_NAME =
  /(?:^|\s)(?:(?:article|post|blog|entry|story|reader|user|page|js|js-post)[_-])?(?:comments?|disqus|discussion|replies|responses)(?:[_-]?(?:list|area|section|wrap|wrapper|container|thread|block|component|feed|body|template|content|tree|tab|box))*(?:$|[\s-]\d|\s)/i;
const REVIEW_NAME =
  /(?:^|\s)(?:[a-z]+[_-])?(?:reviews|testimonials-comments|customer-?reviews|product-?reviews|review_ctn|bv_main_container|yotpo|trustpilot|judgeme|okendo)(?:[_-]?(?:list|area|section|wrap|wrapper|container|block|widget|main))*(?:$|\s)/i;

const POST_WORDS = words('post', 'message', 'topic', 'thread', 'reply', 'comment');

/** Headings of what follows a text, in the languages of most sites. */
const END_HEADING = new RegExp(
  String.raw`^(?:${[
    'related(?: (?:posts?|articles?|stories|content|reading|news|topics|products|items|links|pages|questions))?',
    'you (?:may|might) (?:also )?(?:like|enjoy|be interested in)',
    'more (?:from|stories|on this|like this)\\b.*',
    'read (?:more|next|also)',
    'recommended(?: for you| reading)?',
    'most (?:read|popular|viewed)',
    'popular (?:posts|articles|stories)',
    'trending(?: now)?',
    "don'?t miss",
    'share (?:this|on)\\b.*',
    'leave a (?:reply|comment)',
    'about the authors?',
    'further reading',
    'latest (?:news|posts|articles|stories)',
    'other (?:articles|posts|stories)\\b.*',
    'keep reading',
    'up next',
    'sign up\\b.*',
    'subscribe\\b.*',
    '(?:customers|people) (?:also|who) .*',
    'recently viewed(?: .*)?',
    'frequently bought together',
    'similar (?:products|items|posts|topics|threads)',
    '(?:suggested|hot network|similar) (?:topics|threads|questions)',
    'das könnte (?:sie|dich|ihnen|dir) auch (?:interessieren|gefallen)',
    'mehr zum thema',
    '(?:ähnliche|weitere) (?:artikel|beiträge|themen|produkte)',
    'auch interessant',
    'lesen sie auch',
    '(?:articles|produits) similaires',
    'à lire aussi',
    'lire aussi',
    '(?:artículos|productos) relacionados',
    'te puede interesar',
    'leggi anche',
    'lees ook',
    'leia também',
    'läs också',
    'czytaj także',
    'читайте также',
  ].join('|')})\s*[:.…»>]*$`,
  'i',
);

function words(...list: readonly string[]): RegExp {
  return new RegExp(String.raw`(?:^|[\s_-])(?:${list.join('|')})(?:$|[\s_-])`, 'i');
}

/** Choice: longer attributes are not names that a person gave. */
const NAMES_CHARACTERS_MAX = 400;

/** Returns whether the element or its role alone excludes it from the text of a page. */
export function isAround({ name, attribs: { role } }: Element): boolean {
  return AROUND.has(name) || (role !== undefined && AROUND_ROLE.test(role));
}

/** Returns what the class and id of an element call it: a part around the text, the comments of readers, or null for anything else. */
export function surroundingOf(element: Element): 'around' | 'comments' | null {
  const { name } = element;
  if (name === 'body' || name === 'main' || name === 'article' || name === 'html') return null;
  const names = namesOf(element);
  if (names === null || TEXT_WORDS.test(names)) return null;
  if (AROUND_WORDS.test(names) || names.split(/\s+/).some((one) => AROUND_NAMES.has(one.toLowerCase())))
    return 'around';
  return COMMENT_NAME.test(names) || REVIEW_NAME.test(names) ? 'comments' : null;
}

/** Class and id of an element; null if it has neither. */
function namesOf({ attribs }: Element): string | null {
  const { id, class: classes } = attribs;
  if (id === undefined && classes === undefined) return null;
  const names = `${classes ?? ''} ${id ?? ''}`;
  return names.length > NAMES_CHARACTERS_MAX ? null : names;
}

export function isEndHeading(text: string): boolean {
  return END_HEADING.test(text);
}

const FORUM_SOFTWARE = /\b(?:discourse|vbulletin|phpbb|xenforo|mybb|smf|vanilla|nodebb|flarum|invision|lemmy)\b/i;
const FORUM_NAMES = /\b(?:xenforo|p-body|phpbb|ipsApp|vbulletin|nodebb|discourse|question-page)\b/i;
const FORUM_DATA = /"(?:DiscussionForumPosting|QAPage)"/;
const FORUM_PATH =
  /\/(?:forums?|threads?|topics?|viewtopic|showthread|showtopic|boards?|discussions?|questions?|community|talk|t)[/.?]|\/\/(?:forums?|community|discuss|answers)\./i;
/** Choice: a page of a discussion has at least this number of posts. */
const POSTS_MIN = 3;
const POST_ELEMENTS = ['div', 'article', 'li', 'section', 'table', 'tr'];

/** Returns whether a page is a discussion, whose posts are its text. */
export function isForumPage(page: HtmlPage): boolean {
  for (const script of page.scripts.keys())
    if (/ld\+json/i.test(attribute(script, 'type') ?? '') && FORUM_DATA.test(scriptText(page, script))) return true;
  const generator = elementsNamed(page, 'meta').find((meta) => attribute(meta, 'name') === 'generator');
  if (FORUM_SOFTWARE.test(attribute(generator, 'content') ?? '')) return true;
  const [html] = elementsNamed(page, 'html');
  const [body] = elementsNamed(page, 'body');
  const names = [html, body].flatMap((element) => (element === undefined ? [] : (namesOf(element) ?? [])));
  if (FORUM_NAMES.test(`${names.join(' ')} ${attribute(html, 'data-app') ?? ''}`)) return true;
  if (!FORUM_PATH.test(page.url)) return false;
  let posts = 0;
  for (const name of POST_ELEMENTS)
    for (const element of elementsNamed(page, name))
      if (POST_WORDS.test(namesOf(element) ?? '') && ++posts >= POSTS_MIN) return true;
  return false;
}

/** Choice: longer texts are no headings, nor are elements with more nodes than this. */
export const HEADING_CHARACTERS_MAX = 60;
const HEADING_NODES_MAX = 50;

/** Returns the text of an element that is no longer than a heading; null for any other. */
export function headingText(element: Element): string | null {
  let text = '';
  let nodes = 0;
  const gather = (node: ParentNode): void => {
    for (const child of node.children) {
      if (++nodes > HEADING_NODES_MAX) return;
      if (isText(child)) text += child.data;
      else if (isTag(child)) gather(child);
    }
  };
  gather(element);
  if (nodes > HEADING_NODES_MAX) return null;
  const line = collapse(text);
  return line === '' || line.length > HEADING_CHARACTERS_MAX ? null : line;
}
