import type { PersonPlace } from '../state/tables/table-names.ts';

/** The places that an export reads. */
export type ExportPlace = Exclude<PersonPlace, 'exports'>;

/** What an export has of a place: a title for people, what the place is, and the meaning of each field. */
export interface ExportSection {
  readonly title: string;
  readonly meaning: string;
  readonly fields: Readonly<Record<string, string>>;
}

const TIME = 'Time, Unix seconds';
const SIGNALS =
  'What rules and models read of the request, as numbers by name; those that are 0 ("no" or "not known") are left out';

/** The sections of an export, in their order. */
export const EXPORT_SECTIONS = {
  decisions: {
    title: 'Decisions',
    meaning: 'What was decided about an event, such as a sign-in or a payment, and why',
    fields: {
      request_id: 'Id of the decision',
      at: TIME,
      event_type: 'Kind of event',
      decision: 'What was decided',
      score: 'Risk, 0 to 100',
      reasons: 'What raised or lowered the risk: a code, and the evidence',
      outcome: 'How the event ended, as reported with it',
      ip: 'Internet address',
      country: 'Country of the address',
      path: 'Page of the event',
      fingerprint_hash: 'Hash that stands for the browser or device',
      identities: 'Identities, as they were kept',
      signals: SIGNALS,
    },
  },
  requests: {
    title: 'Logged requests',
    meaning: 'Requests for a decision as they were sent, kept to try rules on past events',
    fields: { at: TIME, body: 'The request; with an export by address only the address' },
  },
  learning_rows: {
    title: 'Rows for learning',
    meaning: 'Numbers about a decision, kept to train and compare models, without a name',
    fields: {
      request_id: 'Id of the decision',
      at: TIME,
      event_type: 'Kind of event',
      decision: 'What was decided',
      signals: SIGNALS,
    },
  },
  velocity: {
    title: 'History',
    meaning: 'Counts and times of earlier events, under hashes from which nobody can be told',
    fields: { records: 'Number of records' },
  },
  deliveries: {
    title: 'Deliveries',
    meaning: 'Messages about a decision that were sent to a system of the company or of its provider',
    fields: {
      request_id: 'Id of the decision',
      at: TIME,
      event: 'What the message is about',
      recipient: 'Where it was sent',
      status: 'What became of it',
      body: 'The message; null with an export by address',
    },
  },
  notes: {
    title: 'Labels and reviews',
    meaning: 'What people at the company found about a decision; none with an export by address',
    fields: {
      request_id: 'Id of the decision',
      label: 'What the event was found to be',
      label_note: 'Note beside it',
      verdict: 'Result of a review',
      review_note: 'Note beside it',
    },
  },
  lists: {
    title: 'Lists',
    meaning: 'Entries that decide what happens at the next event: refused, watched or let through',
    fields: {
      kind: 'Kind of value',
      value: 'Value; null if only a hash of it is kept',
      action: 'What happens',
      note: 'Note beside it',
      event_types: 'Kinds of events for which it counts; empty for all',
      created_at: 'Time of the entry, Unix seconds',
      expires_at: 'End of the entry, Unix seconds; null without an end',
    },
  },
  named_lists: {
    title: 'Named lists',
    meaning: 'Lists that rules of the company ask for',
    fields: {
      list: 'Name of the list',
      value: 'Value; null if only a hash of it is kept',
      added_at: 'Time at which it was added, Unix seconds',
      expires_at: 'End of the item, Unix seconds; null without an end',
    },
  },
  audit: {
    title: 'Audit log',
    meaning: 'When somebody at the company changed a list entry about the person',
    fields: { at: TIME, kind: 'What was done' },
  },
} as const satisfies Readonly<Record<ExportPlace, ExportSection>>;

/** What an export does not have, and why. */
export const NOT_EXPORTED = [
  { place: 'extractions', meaning: 'Records of extractions, sessions of sources and watches are not searched' },
  { place: 'texts', meaning: 'Notes of list entries, rules and webhooks that are about others are not searched' },
  { place: 'journal', meaning: 'Deliveries of the last minutes, which are kept for 301 s, are not read' },
  { place: 'versions', meaning: 'Earlier versions of a named list are not read' },
  { place: 'nodes', meaning: 'In a cluster, decisions and what belongs to them are those of the node that answered' },
] as const;
