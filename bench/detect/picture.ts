import type { Report } from './report.ts';
export function drawPicture(report: Report, title: string): string {
  return title + report.events;
}
