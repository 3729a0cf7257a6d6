/* { "does": "handleSummary is found among the functions", "functions": ["default", "handleSummary"] } */
export function handleSummary(data) { return { stdout: 'x' }; }
export default function () {
  return;
}
