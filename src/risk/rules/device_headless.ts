import type { Facts } from '../facts.ts';
import { hit, type Rule } from './rule.ts';

/**
 * Fires on an automation marker in the user agent, or in the token's signals: `webdriver` is true; neither plugins nor languages on a
 * desktop browser; a screen without size. Every value must be known: quiet if an old collector omits one, and for a phone or a web view,
 * where having no plugins is normal. Source of the weight: the default rules.
 */
export const deviceHeadless: Rule = {
  code: 'device_headless',
  family: 'client',
  weights: { default: 0.7 },
  hint: 'the browser carries automation markers',
  quietedBy: 'a signal is unknown; phones without plugins',
  evaluate(facts) {
    const found = facts.agent?.headless ?? findSignal(facts);
    return found === null ? null : hit(found);
  },
};

function findSignal({ token, agent }: Facts): string | null {
  if (token.kind !== 'collector') return null;
  const { webdriver, pluginCount, languages, screenWidth, screenHeight } = token.signals;
  if (webdriver === true) return 'webdriver is set';
  if (pluginCount === 0 && languages?.length === 0 && agent?.form === 'desktop') return 'no plugins and no languages';
  if (screenWidth === 0 || screenHeight === 0) return 'the screen has no size';
  return null;
}
