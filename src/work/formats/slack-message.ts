import { eventFacts, eventTitle, type FormattedEvent } from './event-text.ts';

/** Source: Slack's Block Kit: 150 characters of a header, 2,000 of a field, 10 fields of a section. */
const HEADER_CHARACTERS_MAX = 150;

/**
 * Returns a message for an incoming webhook of Slack. Values are `plain_text`, in which Slack reads no mentions, links or formatting;
 * `text` is for notifications, and there `&`, `<` and `>` are escaped. Source: Slack, "Formatting text for app surfaces".
 */
export function slackMessage(decided: FormattedEvent): string {
  return slackBlocks(eventTitle(decided), eventFacts(decided), decided.event.occurredAtMs);
}

/** Returns a message with a title, clean facts, and a time. */
export function slackBlocks(
  title: string,
  facts: readonly (readonly [title: string, value: string])[],
  occurredAtMs: number,
): string {
  const fields = facts.map(([name, value]) => plainText(`${name}\n${value}`));
  const time = new Date(occurredAtMs).toISOString();
  return JSON.stringify({
    text: escapeSlackText(title),
    blocks: [
      { type: 'header', text: plainText(title.slice(0, HEADER_CHARACTERS_MAX)) },
      { type: 'section', fields },
      { type: 'context', elements: [plainText(`Gatehouse, ${time}`)] },
    ],
  });
}

function plainText(text: string): { readonly type: 'plain_text'; readonly text: string; readonly emoji: false } {
  return { type: 'plain_text', text, emoji: false };
}

function escapeSlackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
