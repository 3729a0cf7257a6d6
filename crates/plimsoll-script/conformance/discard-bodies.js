/* { "does": "discardResponseBodies drops bodies unless a request asks for one", "settings": {"discard_response_bodies": true}, "console": ["null plain text"] } */
import http from 'k6/http';
export default function () {
  console.log(http.get('http://h.test/text').body, http.get('http://h.test/text', { responseType: 'text' }).body);
}
