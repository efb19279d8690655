import { eventFacts, eventTitle, type FormattedEvent } from './event-text.ts';

/**
 * Returns a message for a workflow of Microsoft Teams ("when a webhook request is received"): one Adaptive Card. Values are text runs, in
 * which cards read no Markdown, links or mentions. Source: Adaptive Cards 1.4, `RichTextBlock` and `TextRun`.
 */
export function teamsMessage(decided: FormattedEvent): string {
  return teamsCard(eventTitle(decided), eventFacts(decided), decided.event.occurredAtMs);
}

/** Returns a message with a title, clean facts, and a time. */
export function teamsCard(
  title: string,
  facts: readonly (readonly [title: string, value: string])[],
  occurredAtMs: number,
): string {
  const time = new Date(occurredAtMs).toISOString();
  const body = [
    block([textRun(title, { size: 'Large', weight: 'Bolder' })]),
    ...facts.map(([name, value]) => block([textRun(`${name}: `, { weight: 'Bolder' }), textRun(value)])),
    block([textRun(`Gatehouse, ${time}`, { isSubtle: true, size: 'Small' })]),
  ];
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body,
  };
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content };
  return JSON.stringify({ type: 'message', attachments: [attachment] });
}

interface Run {
  readonly type: 'TextRun';
  readonly text: string;
}

/** Cards replace `{{DATE(…)}}` in every text. */
function textRun(text: string, look: Readonly<Record<string, unknown>> = {}): Run {
  return { type: 'TextRun', text: text.replaceAll('{{', '{ {'), ...look };
}

function block(inlines: readonly Run[]): { readonly type: 'RichTextBlock'; readonly inlines: readonly Run[] } {
  return { type: 'RichTextBlock', inlines };
}
