"""The filters that all templates have."""

from django import template

from callcentre.core import times

register = template.Library()
register.filter("recent", times.recent)
