/* { "does": "a redirect to another host does not take secrets along", "console": ["undefined kept"] } */
import http from 'k6/http';
export default function () {
  const seen = http.get('http://h.test/away', { headers: { Authorization: 'secret', 'X-Other': 'kept' } }).json('headers');
  console.log(seen.authorization, seen['x-other']);
}
