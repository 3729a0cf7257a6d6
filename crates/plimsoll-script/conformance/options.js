/* { "does": "options come out as they are written", "k6": "a count of what a second holds", "options": {"vus": 2, "duration": "1s", "thresholds": {"checks": ["rate>0.9"]}}, "functions": ["default", "other"] } */
export const options = { vus: 2, duration: '1s', thresholds: { checks: ['rate>0.9'] } };
export function other() {}
export default function () {
  return;
}
