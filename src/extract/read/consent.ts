import { isTag, isText, type Element, type ParentNode } from 'domhandler';
import { elementsNamed, textBeginning, type HtmlPage } from './html.ts';

/**
 * Beginnings of the ids and classes that consent managers give their notices, in lower case. Source: the markup of OneTrust, Cookiebot,
 * Didomi, Quantcast, Usercentrics, Complianz, TrustArc, iubenda, Borlabs, CookieYes, Osano, Termly, Klaro, tarteaucitron, Axeptio,
 * Sourcepoint, Google Funding Choices, consentmanager, Civic, Real Cookie Banner, CookieFirst, CookieHub, Moove, HubSpot, Shopify, Evidon,
 * Crownpeak, Drupal and WordPress plugins.
 */
const MANAGERS =
  /^(?:onetrust|optanon|ot-sdk-(?!cookie-policy)|cybotcookiebot|cookiebot|didomi(?:[-_]|$)|qc-cmp|usercentrics|uc-banner|cmplz-|truste(?:[-_]|$)|trustarc|consent_blackbar|teconsent|iubenda-cs|borlabs-?cookie|_?brlbs-|cky-|cookie-law-info|cli-modal|cli-bar|osano-cm|termly-|t-consentprompt|klaro(?:[-_]|$)|tarteaucitron|axeptio|sp_message_container|fc-consent|cmpbox|cmpwrapper|ccc-(?:notify|overlay|content|module|banner)|rcb-banner|cookiefirst|ch2-|moove[_-]gdpr|hs-eu-cookie|shopify-pc__|_?evidon|eu-cookie-compliance|sliding-popup|eu_cookie_law|cc-window|cc-banner|cc-revoke|cc--main|gdpr-cookie|wt-cli|pum-cookie|avia-cookie|cookieinfo|cookieadmin)/;
/** Names of notices of any other kind, in words that are separated by hyphens. */
const GENERIC =
  /(?:^|-)(?:cookies?|consent|gdpr|dsgvo|rgpd|ccpa|cookiewall|cookiebar)-(?:[a-z]+-)?(?:banner|notice|bar|pop-?up|modal|dialog|overlay|consent|law|message|msg|notification|alert|wall|box|container|layer|wrapper|wrap|disclaimer|manager|prompt|hint|warning|widget|compliance|hinweis|toast|drawer|backdrop)(?:-|$)|(?:^|-)(?:cookie(?:banner|notice|bar|popup|modal|consent|law|wall|hinweis|message|layer|overlay|dialog|box)|consent(?:banner|bar|popup|modal|layer|overlay|box))(?:-|$)/;
/** Choice: longer texts are not notices, whatever contains them is called. */
const NOTICE_CHARACTERS_MAX = 12_000;

/** Returns whether an element is called like a notice about cookies. One with the page's heading or article in it is the page itself. */
export function isConsentNotice(element: Element): boolean {
  const { name, attribs } = element;
  if (name === 'html' || name === 'body') return false;
  const { id, class: classes } = attribs;
  if (id === undefined && classes === undefined) return false;
  const names = [...namesOf(id), ...namesOf(classes)];
  const isManagers = names.some((one) => MANAGERS.test(one.toLowerCase()));
  if (!isManagers && !names.some(isNotices)) return false;
  return (
    !holds(element, isManagers ? PAGES : HEADED) &&
    textBeginning(element, NOTICE_CHARACTERS_MAX + 1).length <= NOTICE_CHARACTERS_MAX
  );
}

function namesOf(value: string | undefined): readonly string[] {
  return value === undefined ||
    !/cook|consent|gdpr|dsgvo|rgpd|ccpa|cmp|trust|didomi|usercentrics|uc-|iubenda|borlabs|brlbs|cky|cli-|osano|termly|klaro|tarteaucitron|axeptio|sp_m|ccc-|rcb-|ch2-|shopify|evidon|sliding|cc-|cm-|optanon|ot-/i.test(
      value,
    )
    ? []
    : value.trim().split(/\s+/);
}

function isNotices(name: string): boolean {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1-$2')
    .replaceAll(/[_:.]+/g, '-')
    .toLowerCase();
  return GENERIC.test(words);
}

const PAGES: ReadonlySet<string> = new Set(['article', 'main']);
/** Consent managers use headings of any level. */
const HEADED: ReadonlySet<string> = new Set([...PAGES, 'h1']);

/** Returns whether an element of one of these names is inside of another, as the page's article or heading would be. */
function holds(element: ParentNode, names: ReadonlySet<string>): boolean {
  return element.children.some((child) => isTag(child) && (names.has(child.name) || holds(child, names)));
}

/** What the buttons of a notice say, in the languages of the large consent managers. */
const CONSENTS =
  /^(?:(?:yes,? )?i (?:accept|agree|consent)|(?:accept|agree|allow|reject|decline|deny|refuse)(?: (?:to )?(?:all|cookies?|all cookies|and (?:continue|close|proceed)|necessary|only necessary|optional cookies|additional cookies|analytics cookies))?|(?:manage|customi[sz]e|cookie) (?:cookies|preferences|settings|consent|choices|options)|got it!?|only necessary(?: cookies)?|(?:alle )?(?:cookies )?(?:akzeptieren|ablehnen|zulassen|annehmen)|(?:allen? )?zustimmen|einverstanden|nur notwendige(?: cookies)?|(?:tout )?(?:accepter|refuser)(?: tout| les cookies)?|j'accepte|aceptar(?: todo| todas| cookies| las cookies)?|rechazar(?: todo| todas)?|accett[ao](?: tutti| tutto| i cookie)?|rifiuta(?: tutti| tutto)?|(?:alles? )?(?:accepteren|weigeren|toestaan)|aceitar(?: todos| tudo| cookies)?|rejeitar(?: todos| tudo)?|akceptuj[eę]?(?: wszystkie)?|odrzuć(?: wszystkie)?|acceptera(?: alla| cookies)?|godkänn(?: alla)?|godta(?: alle)?|tillad alle|accepter alle|hyväksy(?: kaikki)?|elfogadom|přijmout(?: vše)?|принять|同意する|すべて同意|同意)$/i;
const COOKIES =
  /\bcookies?\b|\bconsent\b|\bgdpr\b|\bdsgvo\b|\brgpd\b|einwilligung|zustimmung|consentement|consentimiento|consenso|toestemming|consentimento|samtycke|evästeet|ciasteczk|sušenk|クッキー/i;
/** Choice: a notice with a button of its own is no longer than this. */
const BUTTONED_CHARACTERS_MAX = 4_000;
/** Choice: buttons that are looked at, and how far above one its notice may begin. */
const BUTTONS_MAX = 200;
const LEVELS_MAX = 6;

/** Returns the smallest elements with a button that consents, or refuses to, and a text about cookies. */
export function noticesAround(page: HtmlPage): readonly Element[] {
  const buttons = [...elementsNamed(page, 'button'), ...elementsNamed(page, 'a')].slice(0, 4 * BUTTONS_MAX);
  const notices: Element[] = [];
  let looked = 0;
  for (const button of buttons) {
    const label = shortText(button);
    if (label === null || !CONSENTS.test(label) || ++looked > BUTTONS_MAX) continue;
    const notice = noticeOf(button);
    if (notice !== null) notices.push(notice);
  }
  return notices;
}

function noticeOf(button: Element): Element | null {
  let at = button.parent;
  for (let level = 0; level < LEVELS_MAX && at !== null && isTag(at); level++, at = at.parent) {
    if (at.name === 'body' || at.name === 'html' || holds(at, HEADED)) return null;
    const text = textBeginning(at, BUTTONED_CHARACTERS_MAX + 1);
    if (text.length > BUTTONED_CHARACTERS_MAX) return null;
    if (COOKIES.test(text.replaceAll(CONSENT_LABELS, ''))) return at;
  }
  return null;
}

/** Labels of buttons, which are not a text about cookies. */
const CONSENT_LABELS = /(?:accept|reject|manage|allow)(?: all)? cookies|cookie (?:settings|preferences)/gi;

/** Returns the text of an element with a few short texts; null for any other. */
function shortText(element: Element): string | null {
  const parts: string[] = [];
  let characters = 0;
  const gather = (node: ParentNode): void => {
    for (const child of node.children) {
      if (characters > 60) return;
      if (isText(child)) {
        parts.push(child.data);
        characters += child.data.trim().length;
      } else if (isTag(child)) gather(child);
    }
  };
  gather(element);
  const text = parts.join(' ').replaceAll(/\s+/g, ' ').trim();
  return text === '' || characters > 60 ? null : text;
}
