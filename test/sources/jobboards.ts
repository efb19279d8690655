import type { JsonObject } from '../../src/extract/base/connector.ts';
import { json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

/**
 * Three job boards. Shapes: developers.greenhouse.io/job-board.html, "List jobs" with `content=true`; github.com/lever/postings-api,
 * "Get a list of job postings"; developers.ashbyhq.com/docs/public-job-posting-api.
 */
export function jobboardsWorld(records: number): World {
  return ({ url: text }) => {
    const url = new URL(text);
    switch (url.host + url.pathname) {
      case 'boards-api.greenhouse.io/v1/boards/exampletea/jobs':
        return json({ jobs: many(records, greenhouse), meta: { total: records } });
      case 'api.lever.co/v0/postings/exampletea': {
        const skip = numberIn(url, 'skip', 0);
        return json(many(records, lever).slice(skip, skip + numberIn(url, 'limit', 1_000)));
      }
      case 'api.ashbyhq.com/posting-api/job-board/exampletea':
        return json({ apiVersion: '1', jobs: [...many(records, ashby), { ...ashby(records), isListed: false }] });
      default:
        return null;
    }
  };
}

function greenhouse(place: number): JsonObject {
  return {
    id: 127_817 + place,
    internal_job_id: 144_381,
    title: 'Tea taster',
    company_name: 'Example Tea',
    first_published: '2024-04-01T03:00:00-04:00',
    updated_at: '2024-05-02T04:00:00-04:00',
    requisition_id: '50',
    location: { name: 'Hamburg' },
    absolute_url: `https://boards.greenhouse.io/exampletea/jobs/${127_817 + place}`,
    metadata: null,
    content: '&lt;p&gt;You taste tea &amp;amp; more.&lt;/p&gt;',
    departments: [{ id: 13_583, name: 'Quality', parent_id: null, child_ids: [] }],
    offices: [{ id: 8304, name: 'Hamburg', location: 'Hamburg, Germany', parent_id: null, child_ids: [] }],
  };
}

function lever(place: number): JsonObject {
  return {
    id: `5ac21346-8e0c-4494-8e7a-${String(place).padStart(12, '0')}`,
    text: 'Tea taster',
    categories: {
      commitment: 'Full-time',
      department: 'Quality',
      location: 'Hamburg',
      team: 'Tasting',
      allLocations: ['Hamburg', 'Colombo'],
    },
    country: 'DE',
    description: '<div>You taste tea.</div>',
    descriptionPlain: 'You taste tea.',
    lists: [{ text: 'You have', content: '<li>a tongue</li>' }],
    additional: '<div>Write to us.</div>',
    additionalPlain: 'Write to us.',
    hostedUrl: `https://jobs.lever.co/exampletea/${place}`,
    applyUrl: `https://jobs.lever.co/exampletea/${place}/apply`,
    createdAt: 1_711_954_800_000,
    workplaceType: 'hybrid',
    salaryRange: { currency: 'EUR', interval: 'per-year-salary', min: 40_000, max: 52_000 },
  };
}

function ashby(place: number): JsonObject {
  return {
    id: `1d0e3ad4-0000-4f01-938e-${String(place).padStart(12, '0')}`,
    title: 'Tea taster',
    location: 'Hamburg',
    secondaryLocations: [{ location: 'Colombo', address: { addressCountry: 'Sri Lanka' } }],
    department: 'Quality',
    team: 'Tasting',
    isListed: true,
    isRemote: false,
    descriptionHtml: '<p>You taste tea.</p>',
    descriptionPlain: 'You taste tea.',
    publishedAt: '2024-04-01T07:00:00.000+00:00',
    employmentType: 'FullTime',
    address: { postalAddress: { addressLocality: 'Hamburg', addressCountry: 'Germany' } },
    jobUrl: `https://jobs.ashbyhq.com/exampletea/${place}`,
    applyUrl: `https://jobs.ashbyhq.com/exampletea/${place}/application`,
    compensation: { compensationTierSummary: '€40K – €52K' },
  };
}

const COMMON = { connector: 'jobboards', operation: 'company.jobs', world: jobboardsWorld, hostIn: null } as const;

export const jobboardsCases: readonly SourceCase[] = [
  {
    ...COMMON,
    input: { board: 'greenhouse', company: 'exampletea' },
    paging: 'none',
    sizeAsked: null,
    announcesTotal: true,
  },
  {
    ...COMMON,
    input: { board: 'lever', company: 'exampletea' },
    paging: 'cursor',
    sizeAsked: sizeIn('limit'),
    announcesTotal: false,
  },
  {
    ...COMMON,
    input: { board: 'ashby', company: 'exampletea' },
    paging: 'none',
    sizeAsked: null,
    announcesTotal: true,
  },
];
